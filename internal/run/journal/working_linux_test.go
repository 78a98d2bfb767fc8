package journal

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestWorking(t *testing.T) {
	j := create(t)
	if !Working(j.Dir()) {
		t.Error("its journal is open")
	}
	record(t, j, 1) // nobody took the lock away
	must(t, j.Close())
	if Working(j.Dir()) || Working(t.TempDir()) {
		t.Error("nobody works there")
	}
	again, err := Resume(j.Dir())
	must(t, err)
	must(t, again.Close())
	pipe := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(pipe, lockFile), 0o600))
	if Working(pipe) {
		t.Error("a pipe is no lock")
	}
}
