package firstbyte_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload/startup/firstbyte"
)

func TestMain(m *testing.M) { localtest.Main(m, firstbyte.Helpers...) }

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// listen starts a listener, and returns the address for calls.
func listen(t *testing.T, site testbed.Site) (*helperrpc.Helper, string) {
	t.Helper()
	l, err := helperrpc.Start(t.Context(), site, testbed.Host, firstbyte.Listener.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var a firstbyte.Response
	if err := l.Ask(t.Context(), firstbyte.Request{}, &a); err != nil || a.Port == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	return l, fmt.Sprintf("127.0.0.1:%d", a.Port)
}

// caller starts a Caller, as in a pod.
func caller(t *testing.T, site testbed.Site, address, name, path string, why *bytes.Buffer, program ...string) testbed.Process {
	t.Helper()
	args, env := firstbyte.CallerCommand("/proc/self/exe", address, name, path, testbed.Command{Args: program, Env: []string{"MARK=here"}})
	p, err := site.Start(t.Context(), testbed.Host, testbed.Command{Args: args, Env: env, Stderr: why})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// A call comes when the program has printed its first byte, under the caller's name and no other, and the caller
// stays. The program has its own variables, and not the caller's.
func TestCall(t *testing.T) {
	site := localtest.Host(t)
	l, address := listen(t, site)
	path := filepath.Join(t.TempDir(), "first-byte")
	asked := func(name string, limit time.Duration) firstbyte.Response {
		var a firstbyte.Response
		if err := l.Ask(t.Context(), firstbyte.Request{Wait: name, For: limit}, &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	var why bytes.Buffer
	gate := filepath.Join(t.TempDir(), "gate")
	first := caller(t, site, address, "first", path, &why, path)
	second := caller(t, site, address, "second", path, &why,
		"sh", "-c", `until [ -e "$0" ]; do sleep 0.01; done; [ "$MARK" = here ] && [ -z "$TARE_HELPER" ] && echo up`, gate)
	if a := asked("first", 10*time.Second); !a.Called || a.Ago < 0 {
		t.Errorf("no call of the first: %+v, %s", a, why.String())
	}
	if a := asked("second", 20*time.Millisecond); a.Called {
		t.Error("the second called before it had printed anything")
	}
	write(t, gate, nil)
	if a := asked("second", 10*time.Second); !a.Called {
		t.Errorf("no call of the second: %s", why.String())
	}
	for _, p := range []testbed.Process{first, second} {
		if m, err := p.Memory(); err != nil || m == 0 {
			t.Errorf("a caller has ended: %d, %v, %s", m, err, why.String())
		}
	}
}

// If a program prints nothing, the caller ends, and its error has the reason.
func TestCallOfNothing(t *testing.T) {
	site := localtest.Host(t)
	_, address := listen(t, site)
	for program, want := range map[string]string{
		"exit 3": "printed nothing: exit status 3",
		"true":   "printed nothing",
	} {
		var why bytes.Buffer
		_, err := caller(t, site, address, "x", "/nowhere/first-byte", &why, "sh", "-c", program).Wait()
		if err == nil || !strings.Contains(why.String(), want) {
			t.Errorf("%s: %v, %q; want %q", program, err, why.String(), want)
		}
	}
	var why bytes.Buffer
	_, err := caller(t, site, address, "x", "/nowhere/first-byte", &why, "tare-test-no-such-program").Wait()
	if err == nil || !strings.Contains(why.String(), "tare-test-no-such-program") {
		t.Errorf("%v, %q", err, why.String())
	}
}
