package wrapper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

var nnp = []wrapper.Evidence{wrapper.Is("no_new_privs", "status:NoNewPrivs", "1")}

// own returns a launcher that sets no_new_privs, or fails to.
func own(set bool) wrapper.Wrapper {
	return wrapper.Launched("test", "", launcher.Settings{NoNewPrivs: set}, nnp...)
}

// up puts a wrapper up at a site and makes its checks.
func up(t *testing.T, site testbed.Site, f wrapper.Wrapper) (*layer.Active, []layer.Check, error) {
	t.Helper()
	a := f.Up(new(layer.Run).At(site))
	once, err := a.Settle(t.Context())
	if err != nil {
		return a, nil, err
	}
	checks, err := a.Before(t.Context(), layer.WithWrappers(site, a))
	return a, append(once, checks...), err
}

func TestOwnFront(t *testing.T) {
	site := localtest.Host(t)
	a, checks, err := up(t, site, own(true))
	if err != nil || len(checks) != 2 || !strings.HasSuffix(layertest.Text(checks), "no_new_privs (status:NoNewPrivs): 1; outside 0: true") {
		t.Errorf("on: %v\n%s", err, layertest.Text(checks))
	}
	off, err := own(true).Off(t.Context(), new(layer.Run).At(site))
	if err != nil || layertest.Text(off) != "no_new_privs (status:NoNewPrivs): 0: true" {
		t.Errorf("off: %v\n%s", err, layertest.Text(off))
	}
	// The same evidence appears in an arm whose own layer has the same effect.
	other := layer.WithWrappers(site, a)
	off, err = own(true).Off(t.Context(), new(layer.Run).At(other))
	if err != nil || len(off) != 1 || !off[0].OK || !strings.Contains(off[0].Caveat, "cannot be seen") {
		t.Errorf("off beside another layer: %v, %+v", err, off)
	}
	// A launcher without effect fails the check.
	if _, checks, err = up(t, site, own(false)); err != nil || !strings.Contains(layertest.Text(checks), "0; outside 0: false") {
		t.Errorf("broken: %v\n%s", err, layertest.Text(checks))
	}
	// If the setting is in force already, no evidence can show it.
	if _, _, err = up(t, other, own(true)); err != nil {
		t.Errorf("a front behind another: %v", err)
	}
}

// Each of two wrappers applies to the other's processes, and both to helpers.
func TestNested(t *testing.T) {
	site := localtest.Host(t)
	inner, outer := own(true).Up(new(layer.Run).At(site)), own(false).Up(new(layer.Run).At(site))
	for _, a := range []*layer.Active{inner, outer} {
		checks, err := inner.Before(t.Context(), layer.WithWrappers(site, inner, a))
		if err != nil || !strings.HasSuffix(layertest.Text(checks), "1; outside 0: true") {
			t.Errorf("%v\n%s", err, layertest.Text(checks))
		}
	}
}

func TestNothingToShow(t *testing.T) {
	f := own(true)
	f.Evidence = []wrapper.Evidence{wrapper.Is("user", "status:NoSuchField", "")}
	_, _, err := up(t, localtest.Host(t), f)
	if err == nil || !strings.HasPrefix(err.Error(), "no evidence can show that the layer is on: user (status:NoSuchField) is ") {
		t.Error(err)
	}
}

// hiding returns a wrapper in whose root the test's executable does not exist.
func hiding(t *testing.T, more ...string) wrapper.Wrapper {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bwrap is not installed: .ci/consumers does that")
	}
	args := append([]string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", filepath.Dir(self)}, more...)
	if f := wrapper.Works(t.Context(), args, ""); f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
	return wrapper.Wrapper{Layer: "test", Args: wrapper.Always(args...), Evidence: []wrapper.Evidence{wrapper.Differs("mounts", "ns:mnt")}}
}

func TestHiddenRoot(t *testing.T) {
	site := localtest.Host(t)
	a, checks, err := up(t, site, hiding(t))
	if err != nil || !a.Hides || !strings.Contains(layertest.Text(checks), "mounts (ns:mnt)") || !checks[len(checks)-1].OK {
		t.Errorf("handed in as a file: %v, %t\n%s", err, a.Hides, layertest.Text(checks))
	}
	// This wrapper is outside another one.
	inner := own(true).Up(new(layer.Run).At(site))
	if checks, err := inner.Before(t.Context(), layer.WithWrappers(site, inner, a)); err != nil || !strings.HasSuffix(layertest.Text(checks), "1; outside 0: true") {
		t.Errorf("with another layer inside: %v\n%s", err, layertest.Text(checks))
	}
}

// The shell closes the file before it starts the command.
func TestOutOfReach(t *testing.T) {
	f := hiding(t, "sh", "-c", `exec 3<&-; exec "$@"`, "sh")
	a, checks, err := up(t, localtest.Host(t), f)
	if err != nil || a.Hides || len(checks) != 1 || !checks[0].OK || !strings.Contains(checks[0].Caveat, "not shown") {
		t.Errorf("%v, %+v", err, checks)
	}
}

// The wrapper starts the program in another process, whose CPU time is not counted with the wrapper's.
func TestUncounted(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := exec.Command("mkfifo", in, out).Run(); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	daemon := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("while :; do %s=%s %s <%s >%s || sleep 0.01; done", testbed.HelperVariable, wrapper.Prober, self, in, out))
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = daemon.Wait() })
	f := wrapper.Wrapper{Layer: "test", Args: wrapper.Always("sh", "-c", fmt.Sprintf("exec 3<&0; cat <&3 >%s & cat %s", in, out), "sh")}
	site := localtest.Host(t)
	a, checks, err := up(t, site, f)
	if err != nil || !a.Uncounted || len(checks) == 0 || !strings.Contains(checks[0].Caveat, "unavailable") {
		t.Fatalf("%v, %+v", err, checks)
	}
	process, err := layer.WithWrappers(site, a).Start(t.Context(), testbed.Host, testbed.Command{Args: []string{"x"}, Stdin: strings.NewReader("{}"), Subject: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := process.CPU(); !errors.Is(err, testbed.ErrUncounted) {
		t.Errorf("CPU: %v", err)
	}
	if used, err := process.Wait(); err != nil || !used.Unavailable || used.Wall <= 0 || used.CPU() != 0 {
		t.Errorf("%+v, %v", used, err)
	}
}

func TestWorks(t *testing.T) {
	for _, c := range []struct {
		front  []string
		status testbed.Status
		detail string
	}{
		{[]string{"env", "A=1"}, testbed.Works, "starts a program"},
		{[]string{"tare-test-no-such-program"}, testbed.Missing, "not found"},
		{[]string{"sh", "-c", "echo no daemon is running >&2; exit 3", "sh"}, testbed.Refused, "no daemon is running"},
		{[]string{"false"}, testbed.Refused, "exit status 1"},
	} {
		if f := wrapper.Works(t.Context(), c.front, "hint"); f.Status != c.status || !strings.Contains(f.Detail, c.detail) {
			t.Errorf("%q: %+v", c.front, f)
		}
	}
}

func TestLeft(t *testing.T) {
	left := []string{"a", "b"}
	f := own(true)
	f.Left = func(context.Context) ([]string, error) {
		had := left
		left = left[:max(0, len(left)-2)]
		return had, nil
	}
	a := f.Up(new(layer.Run).At(localtest.Host(t)))
	if err := a.Down(t.Context()); err != nil {
		t.Error(err)
	}
	f.Left = func(context.Context) ([]string, error) { return []string{"a"}, nil }
	if err := f.Up(new(layer.Run).At(localtest.Host(t))).Down(t.Context()); err == nil || err.Error() != "the wrapper has left a" {
		t.Error(err)
	}
}
