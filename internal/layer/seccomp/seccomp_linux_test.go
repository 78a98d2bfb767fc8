package seccomp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"

	"tare/internal/experiment/factor"
	"tare/internal/layer/layertest"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

func config(rules int, arguments bool) *Config {
	return &Config{Rules: factor.Of(rules), Arguments: factor.Of(arguments)}
}

func TestProofs(t *testing.T) {
	site := localtest.Host(t)
	for _, c := range []*Config{config(1, false), config(8, false), config(64, false), config(1, true), config(64, true)} {
		call := calls(c.Arguments.One())[0]
		a := layertest.Up(t, c, site)
		want := fmt.Sprintf("denied call (call:%s): EPERM; outside allowed: true\nfilters (status:Seccomp_filters): 1; outside 0: true", call)
		if on := layertest.Text(layertest.On(t, a, site)); on != want {
			t.Errorf("%d rules, arguments %v, on:\n%s\nwant\n%s", c.Rules.One(), c.Arguments.One(), on, want)
		}
		want = fmt.Sprintf("denied call (call:%s): allowed: true\nfilters (status:Seccomp_filters): 0: true", call)
		if off := layertest.Text(layertest.Off(t, c, site)); off != want {
			t.Errorf("off:\n%s", off)
		}
		if leaked := layertest.Text(layertest.Off(t, c, layertest.Leaky(site, a))); !strings.Contains(leaked, "EPERM: false") {
			t.Errorf("on where it must be off:\n%s", leaked)
		}
	}
}

func TestBrokenHelper(t *testing.T) {
	site := layertest.Broken(localtest.Host(t))
	on := layertest.Text(layertest.On(t, layertest.Up(t, config(8, false), site), site))
	if strings.Contains(on, "true") || !strings.Contains(on, "false") {
		t.Error(on)
	}
}

func TestNoRules(t *testing.T) {
	site := localtest.Host(t)
	on := layertest.On(t, layertest.Up(t, config(0, false), site), site)
	if len(on) != 1 || !on[0].OK || !strings.Contains(on[0].Caveat, "installs no filter") {
		t.Errorf("%+v", on)
	}
}

// Every architecture in Tare's releases has the calls of the rules, and no call appears twice.
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
