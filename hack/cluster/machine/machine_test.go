package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	for content, want := range map[string]string{"": "", "a\n": "a", "a\nb\nc\n": "b\nc", "a\nb\nc": "b\nc"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Tail(file, 2); got != want {
			t.Errorf("of %q: %q, want %q", content, got, want)
		}
	}
	if got := Tail(file+".gone", 2); got != "(no log: open "+file+".gone: no such file or directory)" {
		t.Errorf("of no file: %q", got)
	}
}

func TestPIDOfNothing(t *testing.T) {
	if pid, err := (Machine{Hostname: "none", Dir: t.TempDir()}).PID(); err != nil || pid != 0 {
		t.Errorf("got %d, %v", pid, err)
	}
}

func TestBelow(t *testing.T) {
	for _, test := range []struct {
		path, dir string
		want      bool
	}{
		{"/run", "/run", true}, {"/run/lock", "/run", true}, {"/runner", "/run", false}, {"/", "/run", false},
	} {
		if got := below(test.path, test.dir); got != test.want {
			t.Errorf("%s below %s: %v", test.path, test.dir, got)
		}
	}
}
