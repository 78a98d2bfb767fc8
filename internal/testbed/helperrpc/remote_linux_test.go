package helperrpc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// pod is a site whose programs get all their input at their start, and give their output after their end, as in a
// pod.
type pod struct{ testbed.Site }

func (pod) Self(testbed.Place) string { return "/proc/self/exe" }

func TestRemote(t *testing.T) {
	site := pod{localtest.Host(t)}
	h, err := Start(t.Context(), site, testbed.Host, "doubler")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var n int
		if err := h.Ask(t.Context(), 21, &n); err != nil || n != 42 {
			t.Errorf("%d, %v", n, err)
		}
	}
	if err := h.Ask(t.Context(), 13, nil); err == nil || err.Error() != "not that one" {
		t.Error(err)
	}
	if os.Geteuid() == 0 {
		stranger(t, h.connection.(*remote).socket)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Ask(ended, 1, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// stranger sends a request as another user.
func stranger(t *testing.T, socket string) {
	var out, why bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), testbed.HelperVariable+"=doubler", clientVariable+"="+socket)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("21\n"), &out, &why
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); err == nil || out.Len() > 0 || strings.Contains(why.String(), "permission denied") {
		t.Errorf("another user is told %q, %v %s", out.String(), err, why.String())
	}
}

func TestDeadRemote(t *testing.T) {
	h, err := Start(t.Context(), pod{localtest.Host(t)}, testbed.Host, "doubler")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.Ask(t.Context(), 1, nil); err == nil || err.Error() != "/proc/self/exe: signal: killed" {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
