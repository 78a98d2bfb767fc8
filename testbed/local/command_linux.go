package local

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"

	"tare/testbed"
)

// environment is what a command sees: this process's variables, those that were
// asked for, and the marker. The variable that says that this process is inside
// a user namespace of its own is nobody else's business.
func environment(added []string, m marker) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, UserNamespaceVariable+"=") {
			env = append(env, v)
		}
	}
	env = append(env, added...)
	return append(env, m.environment()...)
}

// lookUp finds a program, or says what is to be done.
func lookUp(program, dir string, env []string) (string, error) {
	found, refused, path := testbed.LookUp(program, dir, env)
	switch {
	case found != "":
		return found, nil
	case refused != "":
		return "", fmt.Errorf("%s: may not be executed: %w", refused, fs.ErrPermission)
	}
	return "", fmt.Errorf("%s: %w in PATH=%s; is it installed? (see tare doctor)", program, exec.ErrNotFound, path)
}

// tail passes on what is written and keeps the last of it for error messages.
type tail struct {
	to   io.Writer // may be nil
	mu   sync.Mutex
	last []byte
}

// tailSize is how much of a command's standard error an error carries.
const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, b...)
	if cut := len(t.last) - tailSize; cut > 0 {
		t.last = append(t.last[:0], t.last[cut:]...)
	}
	t.mu.Unlock()
	if t.to == nil {
		return len(b), nil
	}
	return t.to.Write(b)
}

// String is what was written last; a nil tail kept nothing.
func (t *tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
