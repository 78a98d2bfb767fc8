package agent

import (
	"strings"
	"testing"
	"testing/fstest"
)

func FuzzProc(f *testing.F) {
	f.Add([]byte("12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 100 1 2\n"))
	f.Add([]byte("Seccomp:\t2\nCapEff:\t00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStat(data); err == nil && (s.parent < 0 || s.group < 0 || s.session < 0) {
			t.Errorf("%+v", s)
		}
		_ = statusField(data, "Seccomp")
		v := view{log: string(data), release: string(data), version: string(data), files: fstest.MapFS{
			"proc/self/status": {Data: data}, "proc/self/attr/current": {Data: data}, "proc/cmdline": {Data: data},
		}}
		for _, text := range []string{v.facts().Kernel, v.facts().AppArmor, v.facts().SELinux, v.facts().CapEff} {
			if len([]rune(text)) > 256 || strings.ContainsAny(text, "\x00\x1b\n\r\t\u202e") {
				t.Errorf("%q", text)
			}
		}
	})
}
