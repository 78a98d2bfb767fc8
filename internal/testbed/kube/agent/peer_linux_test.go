package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/testbed"
)

// peer is a client that sends arbitrary frames.
type peer struct {
	t    *testing.T
	conn io.ReadWriteCloser
	r    *bufio.Reader
	id   uint64
}

func newPeer(t *testing.T, dial dial, session string, lease time.Duration) *peer {
	t.Helper()
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &peer{t: t, conn: conn, r: bufio.NewReader(conn)}
	p.say(greeting("test"))
	if _, _, err := readGreeting(p.r); err != nil {
		t.Fatal(err)
	}
	if session != "" {
		if a := p.ask(request{Op: opHello, Hello: &hello{Session: session, Lease: lease}}); a.Failure != nil {
			t.Fatal(a.Failure)
		}
	}
	return p
}

func (p *peer) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) send(q request) {
	p.t.Helper()
	p.id++
	q.ID = p.id
	frame, err := encode(q, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.say(string(frame))
}

func (p *peer) ask(q request) reply {
	p.t.Helper()
	p.send(q)
	var a reply
	var err error
	if a.body, err = decode(p.r, &a.response, nil); err != nil {
		p.t.Fatal(err)
	}
	return a
}

// ended reports whether the agent has closed the connection.
func (p *peer) ended() bool {
	_, err := p.r.ReadByte()
	return err != nil
}

func order(script string) *startRequest {
	return &startRequest{Args: []string{"/bin/sh", "-c", script}, Stdout: true}
}

// TestIdempotent: a program is started once, however often a request is repeated.
func TestIdempotent(t *testing.T) {
	dir := serve(t, &Server{})
	counter := filepath.Join(t.TempDir(), "runs")
	q := request{Op: opStart, Program: "7", Start: order("echo run >>" + counter)}
	for range 2 {
		p := newPeer(t, dialer(dir), "one", time.Minute)
		for range 2 {
			if a := p.ask(q); a.Failure != nil {
				t.Fatal(a.Failure)
			}
		}
		for range 2 {
			if a := p.ask(request{Op: opWait, Program: "7"}); a.End == nil || a.End.Code != 0 {
				t.Fatalf("%+v, %v", a.End, a.Failure)
			}
			if a := p.ask(request{Op: opKill, Program: "7"}); a.Failure != nil {
				t.Fatal(a.Failure)
			}
		}
	}
	p := newPeer(t, dialer(dir), "one", time.Minute)
	if a := p.ask(request{Op: opDrop, Program: "7"}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	// A request that was delayed on a dying connection arrives later.
	if a := p.ask(q); a.Failure == nil || a.Failure.Text != "start: the program 7 was dropped before" {
		t.Errorf("got %v", a.Failure)
	}
	if a := p.ask(request{Op: opDrop, Program: "8"}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	if a := p.ask(request{Op: opStart, Program: "8", Start: q.Start}); a.Failure == nil {
		t.Error("a program was started that had been given up before")
	}
	if runs, err := os.ReadFile(counter); err != nil || string(runs) != "run\n" {
		t.Errorf("it ran as often as this: %q, %v", runs, err)
	}
	// A program of this name in another session is another program.
	if a := newPeer(t, dialer(dir), "two", time.Minute).ask(request{Op: opWait, Program: "7"}); a.Failure == nil || a.Failure.Kind != notKnown {
		t.Errorf("got %+v", a.response)
	}
}

// TestLease: programs of a client that is silent for the lease are killed and forgotten.
func TestLease(t *testing.T) {
	dir := serve(t, &Server{})
	path, lines := messages(t)
	p := newPeer(t, dialer(dir), "gone", minLease)
	other := newPeer(t, dialer(dir), "here", time.Minute)
	if a := p.ask(request{Op: opStart, Program: "1", Start: order("echo $$ >" + path + "; sleep 1000")}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	if a := other.ask(request{Op: opStart, Program: "1", Start: order("sleep 1000")}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	pid := lines()
	a := p.ask(request{Op: opWait, Program: "1"}) // the client is silent from here on
	if want := "it was killed because the agent had not heard of Tare for 1s"; a.End == nil || a.End.Failure != want {
		t.Errorf("got %+v, want %q", a.End, want)
	}
	if !gone(t, pid) {
		t.Errorf("process %s still runs", pid)
	}
	p.send(request{Op: opPing})
	if !p.ended() {
		t.Error("the connection of a session that has ended goes on")
	}
	if a := newPeer(t, dialer(dir), "gone", time.Minute).ask(request{Op: opWait, Program: "1"}); a.Failure == nil || a.Failure.Kind != notKnown {
		t.Errorf("got %+v", a.response)
	}
	if a := other.ask(request{Op: opCPU, Program: "1"}); a.Failure != nil {
		t.Errorf("another session's program is gone: %v", a.Failure)
	}
}

// TestLostProgram: if the agent no longer knows a program, the error of its end says so.
func TestLostProgram(t *testing.T) {
	dir := t.TempDir()
	stop := serveIn(t, &Server{}, dir)
	s := sessionWith(t, dialer(dir), Options{})
	p, _, _ := start(t, s, testbed.Command{Args: []string{"sleep", "1000"}})
	stop()
	t.Cleanup(serveIn(t, &Server{}, dir)) // the container was restarted
	_, err := p.Wait()
	if err == nil || !strings.HasPrefix(err.Error(), "sleep 1000: the agent ") {
		t.Errorf("got %v", err)
	}
	if _, err := s.RoundTrip(t.Context()); err != nil {
		t.Errorf("the session does not go on: %v", err)
	}
}

func TestHostilePeers(t *testing.T) {
	dir := serve(t, &Server{})
	for _, session := range []string{"", "../../etc", "a/b", strings.Repeat("x", 65), "a\x00b", "ä"} {
		p := newPeer(t, dialer(dir), "", 0)
		a := p.ask(request{Op: opHello, Hello: &hello{Session: session}})
		if a.Failure == nil || a.Failure.Text != "hello without the valid name of a session" || !p.ended() {
			t.Errorf("session %q: %+v", session, a.response)
		}
	}
	p := newPeer(t, dialer(dir), "", 0)
	if a := p.ask(request{Op: opStart, Program: "1", Start: order("true")}); a.Failure == nil || a.Failure.Text != `"start" before hello` || !p.ended() {
		t.Errorf("without hello: %+v", a.response)
	}

	p = newPeer(t, dialer(dir), "valid", time.Minute)
	for _, c := range []struct {
		q    request
		want string
	}{
		{request{Op: opStart, Program: "../1", Start: order("true")}, `start: "../1" is not the valid name of a program`},
		{request{Op: opStart, Program: "1"}, "start: the request has no command"},
		{request{Op: opStart, Program: "2", Start: &startRequest{}}, "start: no command given"},
		{request{Op: opStart, Program: "3", Start: &startRequest{Args: []string{"/bin/true", "a\x00b"}}}, "start /bin/true a\x00b: exec /bin/true: invalid argument"},
		{request{Op: opWait, Program: "../1"}, "the agent does not know this program"},
		{request{Op: "format-disk"}, `the agent knows no request "format-disk"`},
		{request{Op: opCounters, CountersRequest: &CountersRequest{Root: "/", Cgroups: []string{"../../x"}}}, `counters: "../../x" is not the UID of a pod`},
	} {
		if a := p.ask(c.q); a.Failure == nil || !strings.HasPrefix(a.Failure.Text, c.want) {
			t.Errorf("%+v: got %+v, want %q", c.q, a.response, c.want)
		}
	}
	if a := p.ask(request{Op: opStart, Program: "ok", Start: order("echo text; echo err >&2")}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	if a := p.ask(request{Op: opWait, Program: "ok"}); a.End == nil {
		t.Fatalf("%+v", a.response)
	}
	for _, c := range []struct {
		order *fetchRequest
		want  string
	}{
		{nil, "fetch: the request names no output"},
		{&fetchRequest{Stream: "stderr"}, `fetch: the program's "stderr" is not kept`},
		{&fetchRequest{Stream: "../stdout"}, `fetch: the program's "../stdout" is not kept`},
		{&fetchRequest{Stream: "stdout", Offset: -1}, "fetch: the offset -1 is outside the output of 5 bytes"},
		{&fetchRequest{Stream: "stdout", Offset: 6}, "fetch: the offset 6 is outside the output of 5 bytes"},
	} {
		if a := p.ask(request{Op: opFetch, Program: "ok", Fetch: c.order}); a.Failure == nil || a.Failure.Text != c.want {
			t.Errorf("%+v: got %+v, want %q", c.order, a.response, c.want)
		}
	}

	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "tare-agent/x y\n", strings.Repeat("x", 1000)} {
		conn, err := dialer(dir)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, text)
		if answer, err := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("%q: the agent answers %q, %v", text, answer, err)
		}
		conn.Close()
	}
	p = newPeer(t, dialer(dir), "valid", time.Minute)
	p.say("\xff\xff\xff\xff\xff\xff\xff\xff")
	if !p.ended() {
		t.Error("a frame of 4 GiB was taken")
	}
}

// TestManyAtOnce: responses come in any order.
func TestManyAtOnce(t *testing.T) {
	s := session(t)
	slow, _, _ := start(t, s, testbed.Command{Args: []string{"sleep", "1000"}})
	errs := make(chan error, 20)
	for range 20 {
		go func() {
			p, err := s.Start(t.Context(), testbed.Command{Args: []string{"/bin/true"}})
			if err == nil {
				_, err = p.Wait()
			}
			errs <- err
		}()
	}
	for range 20 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := slow.Kill(); err != nil {
		t.Error(err)
	}
}

// handling dials a peer that sends one given text.
func handling(text string) dial {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = bufio.NewReader(theirs).ReadString('\n')
			_, _ = io.WriteString(theirs, text)
			theirs.Close()
		}()
		return ours, nil
	}
}

// TestNotOurAgent: the error names the program at the other end of the connection.
func TestNotOurAgent(t *testing.T) {
	never := func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.New("exec refused") }
	for name, c := range map[string]struct {
		dial dial
		o    Options
		want string
	}{
		"nobody":           {never, Options{}, "exec refused"},
		"another program":  {handling("sh: tare: \x1b[31mnot found\n"), Options{}, `this is not Tare's agent: it says "sh: tare: \x1b[31mnot found"`},
		"half a greeting":  {handling("tare-ag"), Options{}, `the connection ended after "tare-ag": EOF`},
		"nothing":          {handling(""), Options{}, "EOF"},
		"another protocol": {handling("tare-agent/99 v9\n"), Options{Version: "v1", Patience: time.Hour}, "the image has Tare v9, but this is Tare v1: they would not measure alike; build the image again (make image) or name one of this version in testbed.kubernetes.image"},
		"another version":  {dialer(serve(t, &Server{Version: "v2.0"})), Options{Version: "v1.0", Patience: time.Hour}, "the image has Tare v2.0, but this is Tare v1.0: they would"},
		"the pod is gone":  {never, Options{Patience: time.Hour, Alive: func(context.Context) error { return errors.New("pod x is evicted") }}, "pod x is evicted"},
	} {
		if c.o.Patience == 0 {
			c.o.Patience = 20 * time.Millisecond
		}
		s := NewClient(c.dial, c.o)
		_, err := s.RoundTrip(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		var version *versionError
		var lost *LostError
		if versions := strings.HasPrefix(name, "another ") && name != "another program"; errors.As(err, &version) != versions {
			t.Errorf("%s: %v is of the wrong kind", name, err)
		} else if pod := name == "the pod is gone"; !versions && errors.As(err, &lost) == pod {
			t.Errorf("%s: %v is of the wrong kind", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		if _, err := s.RoundTrip(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{"v1", "v1", true}, {"v1", "v2", false}, {"", "v2", true}, {"devel", "v2", true}, {"v1", "unknown", true}, {"devel-1", "devel-2", false}} {
		if sameVersion(c.a, c.b) != c.same || sameVersion(c.b, c.a) != c.same {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.same)
		}
	}
	if got := plainVersion("v1\x1b[0m x"); got != "v10mx" {
		t.Errorf("got %q", got)
	}
}

// TestHangingDial: a dial that hangs is given up when the patience ends. If it connects later, its connection is
// closed.
func TestHangingDial(t *testing.T) {
	hang := func(ctx context.Context) (io.ReadWriteCloser, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := NewClient(hang, Options{Patience: time.Millisecond})
	_, err := s.RoundTrip(t.Context())
	var lost *LostError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "not connected within 1s") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := s.RoundTrip(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
}

// TestForsaken: if a program was given up while the agent was out of reach, the client first ends this program over
// the next connection.
func TestForsaken(t *testing.T) {
	dir := serve(t, &Server{})
	broken := make(chan struct{})
	var current *fragile
	s := sessionWith(t, func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case <-broken:
			return nil, errors.New("no way")
		default:
		}
		conn, err := dialer(dir)(ctx)
		current = &fragile{ReadWriteCloser: conn, read: -1, write: -1}
		return current, err
	}, Options{Patience: 20 * time.Millisecond})
	path, lines := messages(t)
	p, _, _ := start(t, s, shell("echo $$ >"+path+"; sleep 1000"))
	pid := lines()
	close(broken)
	current.Close()
	var lost *LostError
	if _, err := p.Wait(); !errors.As(err, &lost) || !strings.Contains(err.Error(), "no way") {
		t.Errorf("got %v", err)
	}
	if gone(t, pid) {
		t.Fatal("the program ended with its connection")
	}
	broken = make(chan struct{})
	if _, err := s.RoundTrip(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !gone(t, pid) {
		t.Errorf("process %s still runs", pid)
	}
}

// TestClose: programs end with their session.
func TestClose(t *testing.T) {
	s := session(t)
	path, lines := messages(t)
	p, _, _ := start(t, s, shell("echo $$ >"+path+"; sleep 1000"))
	pid := lines()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !gone(t, pid) {
		t.Errorf("process %s still runs", pid)
	}
	if _, err := p.Wait(); err == nil {
		t.Error("it ended well")
	}
}

// TestConnect joins a session to the agent as the exec in a pod does.
func TestConnect(t *testing.T) {
	dir := serve(t, &Server{})
	s := sessionWith(t, func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if err := Connect(context.Background(), dir, theirs, theirs); err != nil {
				t.Error(err)
			}
		}()
		return ours, nil
	}, Options{})
	p, stdout, _ := start(t, s, testbed.Command{Args: []string{"/bin/echo", "hello"}})
	if _, err := p.Wait(); err != nil || stdout.String() != "hello\n" {
		t.Errorf("%v, %q", err, stdout)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Connect(ctx, "/no/agent", strings.NewReader(""), io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "no agent of Tare's answers in /no/agent: ") {
		t.Errorf("got %v", err)
	}
}
