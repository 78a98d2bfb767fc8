package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tare/internal/test/fit"
	"tare/internal/testbed"
)

// held holds the numbers of bytes and programs that an agent holds.
func held(s *Server) string {
	var parts []string
	for _, b := range []*quota{&s.memory, &s.store, &s.started} {
		b.mu.Lock()
		parts = append(parts, fmt.Sprint(b.held))
		b.mu.Unlock()
	}
	return strings.Join(parts, " ")
}

// expectHeld waits until an agent holds the expected amounts: it frees them only after a response.
func expectHeld(t *testing.T, s *Server, want string) {
	t.Helper()
	fit.Await(t, "memory, store and programs held: "+want, func() bool { return held(s) == want })
}

// TestConnectionLimit: a connection beyond the limit is refused with the reason. After another connection has ended,
// a new one is accepted.
func TestConnectionLimit(t *testing.T) {
	dir := serve(t, &Server{})
	var first io.Closer
	for i := range connLimit {
		p := newPeer(t, dialer(dir), "one", time.Minute)
		if i == 0 {
			first = p.conn
		}
	}
	impatient := Options{Patience: time.Millisecond}
	_, err := sessionWith(t, dialer(dir), impatient).Facts(t.Context())
	if want := "the agent of this pod has 64 connections, the maximum"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	first.Close()
	if _, err := sessionWith(t, dialer(dir), Options{}).Facts(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSessionLimit: no more sessions than the limit are accepted at once. Each session may reconnect.
func TestSessionLimit(t *testing.T) {
	dir := serve(t, &Server{})
	for i := range sessionsLimit {
		newPeer(t, dialer(dir), fmt.Sprint(i), time.Minute)
	}
	p := newPeer(t, dialer(dir), "", 0)
	a := p.ask(request{Op: opHello, Hello: &hello{Session: "another"}})
	if a.Failure == nil || !strings.HasPrefix(a.Failure.Text, "the agent of this pod has 16 sessions, the maximum") || !p.ended() {
		t.Errorf("%+v", a.response)
	}
	p = newPeer(t, dialer(dir), "0", time.Minute)
	if a := p.ask(request{Op: opBye}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	newPeer(t, dialer(dir), "another", time.Minute)
}

// TestMemoryLimit: requests of all connections together are accepted while there is memory for them. Further requests
// are refused with the reason, and accepted later.
func TestMemoryLimit(t *testing.T) {
	s := &Server{}
	s.memory.limit = 20 << 20
	dir := serve(t, s)
	claim := func(p *peer, bytes uint32) {
		p.say(string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 10), bytes)))
	}
	p := newPeer(t, dialer(dir), "greedy", time.Minute)
	claim(p, bodyLimit) // requests of which no byte arrives
	expectHeld(t, s, fmt.Sprint(bodyLimit+10, " 0 0"))
	other := newPeer(t, dialer(dir), "other", time.Minute)
	claim(other, bodyLimit)
	var a reply
	if _, err := decode(other.r, &a.response, nil); err != nil || a.ID != 0 || a.Failure == nil ||
		a.Failure.Text != "the agent of this pod has no more bytes of memory: 16777226 in use, 16777226 more requested, 20971520 at most" {
		t.Errorf("%+v, %v", a.Failure, err)
	}
	// A Session gets the same refusal, and its error has the reason.
	c := sessionWith(t, dialer(dir), Options{})
	_, err := c.Start(t.Context(), testbed.Command{Args: []string{"wc"}, Stdin: bytes.NewReader(make([]byte, bodyLimit))})
	var lost *LostError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), `the agent refused: "the agent of this pod has no more bytes of memory`) {
		t.Errorf("got %v", err)
	}
	p.conn.Close()
	expectHeld(t, s, "0 0 0")
	program, stdout, _ := start(t, c, testbed.Command{Args: []string{"wc", "-c"}, Stdin: bytes.NewReader(make([]byte, bodyLimit))})
	if _, err := program.Wait(); err != nil || strings.TrimSpace(stdout.String()) != fmt.Sprint(bodyLimit) {
		t.Errorf("%q, %v", stdout, err)
	}
}

// TestManyRequests: pending requests hold memory, and free it when they are answered.
func TestManyRequests(t *testing.T) {
	s := &Server{}
	s.memory.limit = programCost + 100*requestCost
	dir := serve(t, s)
	p := newPeer(t, dialer(dir), "one", time.Minute)
	if a := p.ask(request{Op: opStart, Program: "1", Start: order("sleep 1000")}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	flood := newPeer(t, dialer(dir), "one", time.Minute)
	wait, err := encode(request{ID: 1, Op: opWait, Program: "1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { // the agent stops reading at some time, and ends the connection
		for range 1000 {
			if _, err := flood.conn.Write(wait); err != nil {
				return
			}
		}
	}()
	var a reply
	if _, err := decode(flood.r, &a.response, nil); err != nil || a.ID != 0 || a.Failure == nil || !strings.Contains(a.Failure.Text, "no more bytes of memory") {
		t.Errorf("%+v, %v", a.response, err)
	}
	flood.conn.Close()
	expectHeld(t, s, fmt.Sprint(order("sleep 1000").cost(), " 0 1"))
	if a := p.ask(request{Op: opDrop, Program: "1"}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	expectHeld(t, s, "0 0 0")
}

// TestProgramsLimit: the programs of all sessions count until they are dropped, also programs that could not be
// started.
func TestProgramsLimit(t *testing.T) {
	s := &Server{}
	s.started.limit = 3
	dir := serve(t, s)
	one, two := newPeer(t, dialer(dir), "one", time.Minute), newPeer(t, dialer(dir), "two", time.Minute)
	for name, o := range map[string]*startRequest{"1": order("true"), "2": order("sleep 1000"), "3": {Args: []string{"/no/such/program"}}} {
		if a := one.ask(request{Op: opStart, Program: name, Start: o}); (a.Failure != nil) != (name == "3") {
			t.Fatalf("%s: %v", name, a.Failure)
		}
	}
	const want = "start: the agent of this pod has no more room for programs: 3 in use, 1 more requested, 3 at most"
	if a := two.ask(request{Op: opStart, Program: "1", Start: order("true")}); a.Failure == nil || a.Failure.Text != want {
		t.Errorf("got %v, want %s", a.Failure, want)
	}
	if a := one.ask(request{Op: opDrop, Program: "3"}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	if a := two.ask(request{Op: opStart, Program: "1", Start: order("true")}); a.Failure != nil {
		t.Error(a.Failure)
	}
	for _, p := range []*peer{one, two} {
		if a := p.ask(request{Op: opBye}); a.Failure != nil {
			t.Error(a.Failure)
		}
	}
	expectHeld(t, s, "0 0 0")
}

// TestStoreLimit: the outputs of all programs together are kept up to the limit.
func TestStoreLimit(t *testing.T) {
	s := &Server{}
	s.store.limit = 1 << 20
	c := sessionWith(t, dialer(serve(t, s)), Options{})
	const text = "head -c 700000 /dev/zero"
	first, stdout, _ := start(t, c, shell(text))
	if _, err := first.Wait(); err != nil || stdout.Len() != 700000 {
		t.Fatalf("%d bytes, %v", stdout.Len(), err)
	}
	expectHeld(t, s, "0 0 0") // the output was dropped after it had arrived
	holding, _, _ := start(t, c, shell(text+"; sleep 1000"))
	expectHeld(t, s, fmt.Sprint(programCost+int64(len("/bin/sh-c"+text+"; sleep 1000")+3*16)+requestCost+waitSize(t, c), " 700000 1"))
	second, _, _ := start(t, c, shell(text))
	_, err := second.Wait()
	if want := "it was killed because its stdout could not be kept: the agent of this pod has no more bytes for outputs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = c.Start(t.Context(), testbed.Command{Args: []string{"cat"}, Stdin: strings.NewReader(strings.Repeat("x", 400000))})
	if want := "give it its standard input: the agent of this pod has no more bytes for outputs"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := holding.Kill(); err != nil {
		t.Error(err)
	}
	expectHeld(t, s, "0 0 0")
}

// waitSize is the size of a request that waits for a program.
func waitSize(t *testing.T, c *Client) int64 {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	frame, err := encode(request{ID: c.link.serial, Op: opWait, Program: fmt.Sprint(c.serial)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(frame)) - 8
}

// TestDroppedLimit: a long session remembers only the latest dropped programs.
func TestDroppedLimit(t *testing.T) {
	s := &Server{}
	serve(t, s)
	session, err := s.session(&hello{Session: "long", Lease: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * droppedLimit {
		session.drop(fmt.Sprint(i))
	}
	if n := len(session.dropped); n != droppedLimit || len(session.oldest) != n || session.dropped["0"] || !session.dropped[fmt.Sprint(2*droppedLimit-1)] {
		t.Errorf("%d are remembered", n)
	}
}

// TestSlowReader: a client that does not read responses does not delay other clients.
func TestSlowReader(t *testing.T) {
	dir := serve(t, &Server{})
	p := newPeer(t, dialer(dir), "slow", time.Minute)
	if a := p.ask(request{Op: opStart, Program: "1", Start: order("head -c 1000000 /dev/zero")}); a.Failure != nil {
		t.Fatal(a.Failure)
	}
	if a := p.ask(request{Op: opWait, Program: "1"}); a.End == nil {
		t.Fatal(a.Failure)
	}
	for range 50 { // more than the socket's buffer holds
		p.send(request{Op: opFetch, Program: "1", Fetch: &fetchRequest{Stream: "stdout"}})
	}
	if _, err := sessionWith(t, dialer(dir), Options{}).RoundTrip(t.Context()); err != nil {
		t.Error(err)
	}
}
