package agent

import (
	"strings"
	"testing"
	"testing/fstest"

	"tare/internal/run/machine/proc"
)

func FuzzFacts(f *testing.F) {
	f.Add([]byte("Seccomp:\t2\nCapEff:\t00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = proc.Field(data, "Seccomp")
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
