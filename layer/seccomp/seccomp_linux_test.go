package seccomp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"

	"tare/experiment/factor"
	"tare/layer"
	"tare/layer/front"
	"tare/testbed"
	"tare/testbed/local/localtest"
)

func TestMain(m *testing.M) {
	var err error
	switch testbed.HelperName() {
	case front.Prober:
		err = front.Probe(context.Background())
	case name:
		if os.Getenv("TARE_TEST_BROKEN") != "" { // it becomes the command, and installs nothing
			err = front.Become(func(parameters) error { return nil })(context.Background())
			break
		}
		err = Kind.Helper(context.Background())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func config(rules int, arguments bool) *Config {
	return &Config{Rules: factor.Of(rules), Arguments: factor.Of(arguments)}
}

func shown(checks []layer.Check) string {
	var lines []string
	for _, c := range checks {
		if !c.Once {
			lines = append(lines, fmt.Sprintf("%s: %s: %t", c.Name, c.Observed, c.OK))
		}
	}
	return strings.Join(lines, "\n")
}

func TestProofs(t *testing.T) {
	site := localtest.Host(t)
	session := new(layer.Run).At(site)
	for _, c := range []*Config{config(1, false), config(8, false), config(64, false), config(1, true), config(64, true)} {
		call := calls(c.Arguments.One())[0]
		a, err := c.Up(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		on, err := a.Before(t.Context(), layer.Dress(site, a))
		want := fmt.Sprintf("denied call (call:%s): EPERM; outside allowed: true\nfilters (status:Seccomp_filters): 1; outside 0: true", call)
		if err != nil || shown(on) != want {
			t.Errorf("%d rules, arguments %v, on: %v\n%s\nwant\n%s", c.Rules.One(), c.Arguments.One(), err, shown(on), want)
		}
		off, err := c.ProveOff(t.Context(), session)
		want = fmt.Sprintf("denied call (call:%s): allowed: true\nfilters (status:Seccomp_filters): 0: true", call)
		if err != nil || shown(off) != want {
			t.Errorf("off: %v\n%s", err, shown(off))
		}
		// An arm on which it has stayed.
		off, err = c.ProveOff(t.Context(), new(layer.Run).At(beneath(site, a)))
		if err != nil || !strings.Contains(shown(off), "EPERM: false") {
			t.Errorf("on where it must be off: %v\n%s", err, shown(off))
		}
	}
}

// beneath is a site whose programs are behind the layer, although no layer of the arm says so.
func beneath(site testbed.Site, a *layer.Active) testbed.Site {
	return behind{layer.Dress(site, a)}
}

type behind struct{ dressed testbed.Site }

func (b behind) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return b.dressed.Start(ctx, where, cmd)
}

func TestBrokenHelper(t *testing.T) {
	t.Setenv("TARE_TEST_BROKEN", "1")
	site := localtest.Host(t)
	a, err := config(8, false).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.Before(t.Context(), layer.Dress(site, a))
	if err != nil || strings.Contains(shown(on), "true") || !strings.Contains(shown(on), "false") {
		t.Errorf("%v\n%s", err, shown(on))
	}
}

func TestNoRules(t *testing.T) {
	site := localtest.Host(t)
	a, err := config(0, false).Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	on, err := a.Before(t.Context(), layer.Dress(site, a))
	if err != nil || len(on) != 1 || !on[0].OK || !strings.Contains(on[0].Caveat, "installs no filter") {
		t.Errorf("%v, %+v", err, on)
	}
}

// Every architecture that Tare is released for has the calls of the rules, once each.
func TestCalls(t *testing.T) {
	for _, name := range []string{"amd64", "arm64"} {
		info, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, arguments := range []bool{false, true} {
			list := calls(arguments)
			if len(list) != 64 {
				t.Errorf("%d calls", len(list))
			}
			for i, call := range list {
				if _, ok := info.SyscallNames[call]; !ok {
					t.Errorf("%s has no %s", name, call)
				}
				if slices.Contains(list[:i], call) {
					t.Errorf("%s is there twice", call)
				}
			}
		}
	}
}
