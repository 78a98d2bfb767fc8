package cgroupbpf

import (
	"regexp"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/bpf"
	"tare/internal/layer/layertest"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// possible skips the test if this system refuses such programs.
func possible(t *testing.T) {
	t.Helper()
	if f := Kind.Probe(t.Context())[0]; f.Status != testbed.Works {
		t.Skip(f.Detail)
	}
}

func with(rules int, m bpf.Mismatch) *config {
	return &config{Rules: factor.Of(rules), Mismatch: factor.Of(m)}
}

func TestProofs(t *testing.T) {
	possible(t)
	for _, c := range []struct {
		config *config
		try    string
		denied bool
	}{
		{with(0, bpf.Early), "connect:198.18.0.1:9", false},
		{with(1, bpf.Early), "connect:198.18.0.1:9", true},
		{with(64, bpf.Early), "connect:198.18.63.1:9", true},
		{with(8, bpf.Late), "connect:127.0.0.1:65479", true},
	} {
		run := new(layer.Run)
		here, there := localtest.Host(t), localtest.Host(t)
		up, err := c.config.Up(t.Context(), run.At(here))
		if err != nil {
			t.Fatal(err)
		}
		if failed, err := up.Settle(t.Context()); err != nil || len(failed) > 0 {
			t.Errorf("%v, %s", err, layertest.Text(failed))
		}
		on, err := up.Before(t.Context(), layer.WithWrappers(here, up))
		outside, tried := answer(t, there, c.try), "hook connect: "+c.try+" gives "
		want := tried + outside + "; hits 1, matches 0: true"
		if c.denied {
			want = tried + "EPERM; hits 1, matches 1: true"
		}
		if err != nil || layertest.Text(on) != want || outside == "EPERM" {
			t.Errorf("on: %v\n%s\nwant\n%s", err, layertest.Text(on), want)
		}
		want = tried + outside + "; hits 0: true"
		off, err := c.config.ProveOff(t.Context(), run.At(there))
		if err != nil || layertest.Text(off) != want {
			t.Errorf("off: %v\n%s\nwant\n%s", err, layertest.Text(off), want)
		}
		// The layer has stayed on in this arm.
		off, err = c.config.ProveOff(t.Context(), run.At(here))
		if err != nil || !strings.HasSuffix(layertest.Text(off), "; hits 1: false") {
			t.Errorf("on where it must be off: %v\n%s", err, layertest.Text(off))
		}
		if err := up.Down(t.Context()); err != nil {
			t.Error(err)
		}
		if after := answer(t, here, c.try); after != outside {
			t.Errorf("afterwards: %s", after)
		}
	}
}

// answer returns the prober's answer if no rule denies the action.
func answer(t *testing.T, site testbed.Site, try string) string {
	t.Helper()
	got, err := wrapper.Try(t.Context(), site, testbed.Host, try)
	if err != nil {
		t.Fatal(err)
	}
	return got[try]
}

// Something other than Tare detaches the program.
func TestDetached(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	s := new(layer.Run).At(site)
	c := with(1, bpf.Early)
	group, err := bpf.Group(s, "")
	if err != nil {
		t.Fatal(err)
	}
	four, six, hooks := c.rules()
	loaded, err := bpf.LoadConnect(group, four, six)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = loaded.Close() }()
	g := &bpf.Programs{Layer: name, Loaded: loaded, Hooks: hooks, Places: s.Places}
	if checks, err := g.Before(t.Context(), site); err != nil || checks[0].OK || !strings.Contains(checks[0].Observed, "hits 0") {
		t.Errorf("%v, %+v", err, checks)
	}
}

// IPv6 has its own rules.
func TestIPv6(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	const denied, other = "connect:[2001:db8:1::1]:9", "connect:[2001:db8:1::1]:10"
	if got := answer(t, site, denied); got == "EPERM" || got == "EAFNOSUPPORT" {
		t.Skip("there is no IPv6: " + got)
	}
	up, err := with(2, bpf.Early).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, site, denied); got != "EPERM" {
		t.Error(got)
	}
	if got := answer(t, site, other); got == "EPERM" {
		t.Error(got)
	}
	if err := up.Down(t.Context()); err != nil {
		t.Error(err)
	}
}

// Around selects the places that the layer is put around.
func TestAround(t *testing.T) {
	possible(t)
	site := localtest.Network(t, 0, 1500)
	for around, want := range map[layer.Side][2]bool{"": {true, true}, layer.Server: {false, true}, layer.Client: {true, false}} {
		c := with(1, bpf.Early)
		c.Around = around
		up, err := c.Up(t.Context(), new(layer.Run).At(site, testbed.ClientPod, testbed.ServerPod))
		if err != nil {
			t.Fatal(err)
		}
		for i, where := range []testbed.Place{testbed.ClientPod, testbed.ServerPod} {
			got, err := wrapper.Try(t.Context(), site, where, "connect:198.18.0.1:9")
			if err != nil || (got["connect:198.18.0.1:9"] == "EPERM") != want[i] {
				t.Errorf("around %q in the %s: %v, %v", around, where, got, err)
			}
		}
		if checks, err := up.Before(t.Context(), site); err != nil || !checks[0].OK {
			t.Errorf("around %q: %v, %s", around, err, layertest.Text(checks))
		}
		if err := up.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// In an arm with other rules, the proof queries the kernel.
func TestBeside(t *testing.T) {
	possible(t)
	run := new(layer.Run)
	here, there := localtest.Host(t), localtest.Host(t)
	one, other := with(1, bpf.Early), with(8, bpf.Early)
	for c, site := range map[*config]testbed.Site{one: here, other: there} {
		up, err := c.Up(t.Context(), run.At(site))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = up.Down(t.Context()) }()
	}
	for site, want := range map[testbed.Site]string{here: "programs of another arm: connect[46] is: false", there: "programs of another arm: none is: true"} {
		s := run.At(site)
		s.Own = other
		checks, err := one.ProveOff(t.Context(), s)
		if ok, _ := regexp.MatchString("^"+want+"$", layertest.Text(checks)); err != nil || !ok {
			t.Errorf("%v, %s; want %s", err, layertest.Text(checks), want)
		}
	}
}

// The check reports a trial without connections as unexercised.
func TestHits(t *testing.T) {
	possible(t)
	site := localtest.Host(t)
	up, err := with(0, bpf.Early).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = up.Down(t.Context()) }()
	if _, err := up.Before(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		work        float64
		observed    string
		unexercised bool
	}{
		{0, "connect 0", true},
		{1000, "connect 1 (0.001 per unit of work)", true},
		{2, "connect 2 (1 per unit of work)", false},
		{0, "connect 3", false},
	} {
		if i > 0 {
			answer(t, site, "connect:127.0.0.1:9")
		}
		checks, err := up.After(t.Context(), layer.Did{Work: c.work})
		if err != nil || len(checks) != 1 || checks[0].Observed != c.observed || checks[0].Unexercised != c.unexercised {
			t.Errorf("%v, %+v", err, checks)
		}
	}
}
