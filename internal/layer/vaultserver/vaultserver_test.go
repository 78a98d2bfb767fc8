package vaultserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// servers have the state that the test gives them.
type servers struct {
	state   State
	err     error
	audited int64
}

func (s *servers) State(context.Context) (*State, error) { return &s.state, s.err }
func (s *servers) Audited() int64                        { return s.audited }

var (
	encrypted = Listener{TLS: "TLS 1.3", Plain: "status 400", Encrypts: true}
	clear     = Listener{TLS: "no TLS", Plain: "answered", Clear: true}
)

func TestProofs(t *testing.T) {
	voters := func(n int) []Peer { return make([]Peer, n) }
	three := voters(3)
	for i := range three {
		three[i].Voter = true
	}
	tls, plain := &Config{TLS: factor.Of(true)}, &Config{TLS: factor.Of(false)}
	audit, members := &Config{Audit: factor.Of(FileAudit)}, &Config{Members: factor.Of(3)}
	for _, test := range []struct {
		name    string
		c       *Config
		state   State
		on, off bool // whether the proof holds with the layer, and without it
	}{
		{"TLS", tls, State{Listeners: []Listener{encrypted, encrypted}}, true, false},
		{"no TLS", tls, State{Listeners: []Listener{clear, clear}}, false, true},
		{"one member in clear", tls, State{Listeners: []Listener{encrypted, clear}}, false, false},
		{"both at once", tls, State{Listeners: []Listener{{Encrypts: true, Clear: true}}}, false, false},
		{"nobody", tls, State{}, false, false},
		{"plaintext", plain, State{Listeners: []Listener{clear}}, true, false},
		{"audit", audit, State{Audit: []string{"file"}}, true, false},
		{"no audit", audit, State{}, false, true},
		{"members", members, State{Peers: three}, true, false},
		{"members that do not vote", members, State{Peers: voters(3)}, false, true},
	} {
		site := testbed.Holding(localtest.Host(t), &servers{state: test.state})
		on := layertest.Before(t, layertest.Up(t, test.c, site), site)
		if len(on) != 1 || on[0].OK != test.on {
			t.Errorf("%s, on: %+v", test.name, on)
		}
		if off := layertest.Off(t, test.c, site); len(off) != 1 || off[0].OK != test.off {
			t.Errorf("%s, off: %+v", test.name, off)
		}
	}
}

// Settings of the arm's own layer are not checked, all others are.
func TestBeside(t *testing.T) {
	site := testbed.Holding(localtest.Host(t), &servers{state: State{Listeners: []Listener{encrypted}, Audit: []string{"file"}}})
	s := new(layer.Run).At(site)
	s.Own = &Config{TLS: factor.Of(true)}
	checks, err := (&Config{TLS: factor.Of(false), Audit: factor.Of(FileAudit)}).ProveOff(t.Context(), s)
	if err != nil || len(checks) != 1 || checks[0].Name != "audit devices" || checks[0].OK {
		t.Errorf("%+v, %v", checks, err)
	}
	if checks, err := (&Config{TLS: factor.Of(false)}).ProveOff(t.Context(), s); err != nil || checks != nil {
		t.Errorf("%+v, %v", checks, err)
	}
}

func TestAfter(t *testing.T) {
	there := &servers{state: State{Audit: []string{"file"}}}
	site := testbed.Holding(localtest.Host(t), there)
	a := layertest.Up(t, &Config{Audit: factor.Of(FileAudit)}, site)
	layertest.Before(t, a, site)
	for _, n := range []int64{0, 7} {
		there.audited = n
		if checks := layertest.After(t, a, layer.Did{}); len(checks) != 1 || checks[0].OK != (n > 0) {
			t.Errorf("%d bytes: %+v", n, checks)
		}
	}
}

// Servers that do not answer or do not exist prove nothing.
func TestNothingToSee(t *testing.T) {
	c := &Config{TLS: factor.Of(true)}
	if _, err := c.ProveOff(t.Context(), new(layer.Run).At(localtest.Host(t))); !errors.Is(err, errNone) {
		t.Errorf("got %v", err)
	}
	site := testbed.Holding(localtest.Host(t), &servers{err: errors.New("sealed")})
	if _, err := c.ProveOff(t.Context(), new(layer.Run).At(site)); err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Errorf("got %v", err)
	}
}

// If several layers have the same setting, the last one wins; other settings stay.
func TestOver(t *testing.T) {
	yes, no := true, false
	got := Settings{TLS: &no, Audit: NoAudit, Members: 5}.Over(Settings{TLS: &yes}, Settings{Members: 3})
	if !*got.TLS || got.Audit != NoAudit || got.Members != 3 {
		t.Errorf("%+v", got)
	}
}
