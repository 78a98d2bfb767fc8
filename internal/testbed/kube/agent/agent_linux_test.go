package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/run/machine/proc"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// serve runs an agent in this process until the test ends, and returns the agent's directory.
func serve(t testing.TB, s *Server) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	stop := serveIn(t, s, dir)
	t.Cleanup(stop)
	return dir
}

// serveIn runs an agent in a directory until the agent is stopped.
func serveIn(t testing.TB, s *Server, dir string) (stop func()) {
	t.Helper()
	s.Dir = dir
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	conn, err := dialSocket(ctx, filepath.Join(dir, socketName)) // the agent listens
	if err != nil {
		cancel()
		t.Fatalf("no agent: %v, %v", err, <-ended)
	}
	conn.Close()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	}
}

// dialer opens unchanged connections to the agent in dir.
func dialer(dir string) dial {
	return func(context.Context) (io.ReadWriteCloser, error) {
		return net.Dial("unix", filepath.Join(dir, socketName))
	}
}

// session returns a session with a new agent.
func session(t testing.TB) *Client {
	t.Helper()
	return sessionWith(t, dialer(serve(t, &Server{})), Options{})
}

func sessionWith(t testing.TB, dial dial, o Options) *Client {
	t.Helper()
	s := NewClient(dial, o)
	s.backoff = time.Millisecond
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
	})
	return s
}

// shell returns a command that the shell runs.
func shell(script string) testbed.Command {
	return testbed.Command{Args: []string{"/bin/sh", "-c", script}}
}

// start starts a command that keeps its outputs.
func start(t testing.TB, s *Client, cmd testbed.Command) (p testbed.Process, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	p, err := s.Start(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return p, stdout, stderr
}

// messages makes a pipe through which programs send messages to the test while they run.
func messages(t testing.TB) (path string, lines func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "told")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() string {
		text, err := os.ReadFile(path) // until the program has closed it
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

// gone reports whether no process with this id runs. A process that has ended and is not reaped yet counts as gone.
func gone(t testing.TB, pid string) bool {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := proc.Read(number)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Dead()
}

func TestRun(t *testing.T) {
	s := session(t)
	cmd := shell(`cat; echo "$WHO" >&2; pwd; exit 3`)
	cmd.Stdin, cmd.Env, cmd.Dir = strings.NewReader("in\n"), []string{"WHO=me"}, "/usr"
	p, stdout, stderr := start(t, s, cmd)
	usage, err := p.Wait()
	var exit *testbed.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || exit.Signal != "" || exit.Stderr != "me\n" {
		t.Errorf("got %#v, want exit status 3", err)
	}
	if want := `/bin/sh -c 'cat; echo "$WHO" >&2; pwd; exit 3': exit status 3: me`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if stdout.String() != "in\n/usr\n" || stderr.String() != "me\n" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	if usage.Wall <= 0 || usage.CPU() <= 0 || usage.Unavailable { // the program may end before its memory is read
		t.Errorf("usage %+v", usage)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("Kill after the end: %v", err)
	}
}

func TestOutputsThatNobodyWants(t *testing.T) {
	s := session(t)
	p, err := s.Start(t.Context(), shell("echo out; echo err >&2; exit 1"))
	if err != nil {
		t.Fatal(err)
	}
	var exit *testbed.ExitError
	if _, err := p.Wait(); !errors.As(err, &exit) || exit.Stderr != "err\n" {
		t.Errorf("got %v, want the last of stderr in the error all the same", err)
	}
}

func TestCannotStart(t *testing.T) {
	s := session(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cmd  testbed.Command
		is   error
		text string
	}{
		"not in PATH":     {testbed.Command{Args: []string{"no-such-program"}, Env: []string{"PATH=/usr/bin:/bin"}}, exec.ErrNotFound, "no-such-program is not in the pod's PATH=/usr/bin:/bin; is it in the image?"},
		"not there":       {testbed.Command{Args: []string{"/no/such"}}, fs.ErrNotExist, "start /no/such: exec /no/such: no such file or directory"},
		"not executable":  {testbed.Command{Args: []string{plain}}, fs.ErrPermission, "start " + plain + ": exec " + plain + ": permission denied"},
		"no directory":    {testbed.Command{Args: []string{"/bin/sh"}, Dir: "/no/dir"}, fs.ErrNotExist, "start /bin/sh: its working directory: stat /no/dir: no such file or directory"},
		"no command":      {testbed.Command{}, nil, "start: no command given"},
		"too much to say": {testbed.Command{Args: []string{"/bin/true", strings.Repeat("x", headLimit)}}, nil, "a message of"},
		"too much input":  {testbed.Command{Args: []string{"/bin/cat"}, Stdin: io.LimitReader(zeros{}, bodyLimit+1)}, nil, "start /bin/cat: its standard input is larger than 16777216 bytes, the maximum for a pod"},
	} {
		p, err := s.Start(t.Context(), c.cmd)
		if err == nil {
			t.Errorf("%s: started: %v", name, p)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v is not %v", name, err, c.is)
		}
		if !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%s: got %q, want %q", name, err, c.text)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestStandardInput(t *testing.T) {
	s := session(t)
	cmd := testbed.Command{Args: []string{"wc", "-c"}, Stdin: io.LimitReader(zeros{}, bodyLimit)}
	p, stdout, _ := start(t, s, cmd)
	if _, err := p.Wait(); err != nil || strings.TrimSpace(stdout.String()) != strconv.Itoa(bodyLimit) {
		t.Errorf("%v, %s", err, stdout)
	}
	// A reader that never ends does not delay the program.
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := readStdin(ctx, r); err == nil || err.Error() != "its standard input has no end: enough" {
		t.Errorf("got %v", err)
	}
}

func TestLargeOutput(t *testing.T) {
	s := session(t)
	p, stdout, stderr := start(t, s, shell("head -c 5000001 /dev/zero | tr '\\0' x; printf yy >&2"))
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if stdout.Len() != 5000001 || strings.Trim(stdout.String(), "x") != "" || stderr.String() != "yy" {
		t.Errorf("%d bytes, stderr %q", stdout.Len(), stderr)
	}
}

func TestTooLargeOutput(t *testing.T) {
	dir := serve(t, &Server{programs: process.Keeper{OutputLimit: 1 << 20}})
	s := sessionWith(t, dialer(dir), Options{})
	p, stdout, _ := start(t, s, testbed.Command{Args: []string{"cat", "/dev/zero"}})
	_, err := p.Wait()
	if want := "cat /dev/zero: it was killed because it wrote more than 1048576 bytes to stdout"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if stdout.Len() != 0 {
		t.Errorf("%d bytes of it were delivered", stdout.Len())
	}
}

func TestSignals(t *testing.T) {
	s := session(t)
	p, stdout, _ := start(t, s, shell("echo before; kill -TERM $$"))
	_, err := p.Wait()
	var exit *testbed.ExitError
	if !errors.As(err, &exit) || exit.Signal != "terminated" || exit.Code != -1 {
		t.Errorf("got %#v, want the signal terminated", err)
	}
	if stdout.String() != "before\n" {
		t.Errorf("stdout %q", stdout)
	}

	p, _, _ = start(t, s, testbed.Command{Args: []string{"sleep", "1000"}})
	if err := p.Kill(); err != nil {
		t.Errorf("Kill: %v", err)
	}
	if _, err := p.Wait(); !errors.As(err, &exit) || exit.Signal != "killed" {
		t.Errorf("got %v, want the signal killed", err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	p, err = s.Start(ctx, testbed.Command{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("enough"))
	if _, err := p.Wait(); err == nil || err.Error() != "sleep 1000: enough" {
		t.Errorf("got %v, want the context's cause", err)
	}
}

// TestDescendants: all processes that a program leaves behind are gone after its end.
func TestDescendants(t *testing.T) {
	slow.Test(t)
	s := session(t)
	for name, script := range map[string]string{
		"in its group":         `sleep 1000 & echo $! >%[1]s`,
		"in a session":         `setsid sh -c 'echo $$ >%[1]s; exec sleep 1000' & while [ ! -e %[1]s.read ]; do sleep 0.01; done`,
		"orphan in a session":  `(setsid sh -c 'sleep 1000 & echo $! >%[1]s' &) ; while [ ! -e %[1]s.read ]; do sleep 0.01; done`,
		"with its output open": `(setsid sh -c 'sleep 1000 & echo $! >%[1]s' >&1 2>&1 &) ; while [ ! -e %[1]s.read ]; do sleep 0.01; done`,
	} {
		path, lines := messages(t)
		p, _, _ := start(t, s, shell(fmt.Sprintf(script, path)))
		pid := lines()
		if _, err := strconv.Atoi(pid); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := os.WriteFile(path+".read", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !gone(t, pid) {
			t.Errorf("%s: process %s still runs", name, pid)
		}
	}
}

func TestKillEndsDescendants(t *testing.T) {
	s := session(t)
	path, lines := messages(t)
	p, _, _ := start(t, s, shell("(setsid sh -c 'sleep 1000 & echo $! >"+path+"' &); sleep 1000"))
	pid := lines()
	if gone(t, pid) {
		t.Errorf("process %s is gone already", pid)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if !gone(t, pid) {
		t.Errorf("process %s still runs", pid)
	}
}

// TestCPU: the CPU time of all children counts, whether or not the program waited for them.
func TestCPU(t *testing.T) {
	s := session(t)
	work := "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
	for name, script := range map[string]string{
		"itself":    work + "; echo done >%s; sleep 1000",
		"child":     "sh -c '" + work + "'; echo done >%s; sleep 1000",
		"living":    "sh -c '" + work + "; echo done >%s; sleep 1000'; :",
		"left over": "(setsid sh -c '" + work + "; echo done >%s; sleep 1000' &); sleep 1000",
	} {
		path, lines := messages(t)
		p, _, _ := start(t, s, shell(fmt.Sprintf(script, path)))
		lines()
		used, err := p.CPU()
		if err != nil || used < 10*time.Millisecond {
			t.Errorf("%s: %v, %v while it runs", name, used, err)
		}
		if memory, err := p.Memory(); err != nil || memory < 100<<10 || memory > 1<<30 {
			t.Errorf("%s: %d bytes resident, %v", name, memory, err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		after, err := p.CPU()
		if err != nil || after < used-proc.Tick {
			t.Errorf("%s: %v, %v after its end, but %v before", name, after, err, used)
		}
		if usage, _ := p.Wait(); name != "living" && usage.CPU() < 10*time.Millisecond {
			t.Errorf("%s: usage %+v", name, usage)
		}
	}
}

func TestMemory(t *testing.T) {
	s := session(t)
	want := proc.OwnPeak() + 50e6 // a peak below the agent's own peak is not known exactly
	p, _, _ := start(t, s, shell(fmt.Sprintf("head -c %[1]d /dev/zero | tail -c %[1]d >/dev/null", want)))
	usage, err := p.Wait()
	if err != nil || usage.MaxRSS < want || usage.MaxRSS > 2*want {
		t.Errorf("%+v, %v: want a little more than %d", usage, err, want)
	}
}

func TestFirstAgentServes(t *testing.T) {
	dir := serve(t, &Server{})
	err := (&Server{Dir: dir}).Serve(t.Context())
	if want := "another agent serves in " + dir + " already"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestEndOfAgent: when the agent ends, all its programs end, and its files are removed.
func TestEndOfAgent(t *testing.T) {
	dir := t.TempDir()
	stop := serveIn(t, &Server{}, dir)
	s := NewClient(dialer(dir), Options{Patience: 10 * time.Millisecond, Alive: func(context.Context) error { return errors.New("the pod is gone") }})
	path, lines := messages(t)
	p, _, _ := start(t, s, shell("echo $$ >"+path+"; sleep 1000"))
	pid := lines()
	stop()
	if _, err := p.Wait(); err == nil {
		t.Error("the program ended well")
	}
	if !gone(t, pid) {
		t.Errorf("process %s still runs", pid)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInstall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bin", "tare")
	if err := Install(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	self, selfErr := os.Stat("/proc/self/exe")
	if err != nil || selfErr != nil || info.Size() != self.Size() || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v, %v", info, err, selfErr)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	err = Install("/proc/no/tare")
	if err == nil || !strings.HasPrefix(err.Error(), "install the agent as /proc/no/tare: ") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkRound(b *testing.B) {
	s := session(b)
	if _, err := s.RoundTrip(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.RoundTrip(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkProgram starts the smallest program, waits for it and fetches its output.
func BenchmarkProgram(b *testing.B) {
	s := session(b)
	for b.Loop() {
		p, stdout, _ := start(b, s, testbed.Command{Args: []string{"/bin/echo", "hello"}})
		if _, err := p.Wait(); err != nil || stdout.String() != "hello\n" {
			b.Fatal(err, stdout)
		}
	}
}
