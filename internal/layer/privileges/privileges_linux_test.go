package privileges

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

// shown returns the checks of a site, with the layer and without it.
func shown(t *testing.T, l layer.Layer, site testbed.Site) (on, off string) {
	t.Helper()
	return text(layertest.On(t, layertest.Up(t, l, site), site)), text(layertest.Off(t, l, site))
}

func text(checks []layer.Check) string {
	var lines []string
	for _, c := range checks {
		if !c.Once {
			lines = append(lines, fmt.Sprintf("%s: %s: %t", c.Name, strings.Split(c.Observed, ";")[0], c.OK))
		}
	}
	return strings.Join(lines, "\n")
}

func TestCapabilities(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, which has capabilities")
	}
	site := localtest.Host(t)
	on, off := shown(t, &capabilities{Drop: []string{all}}, site)
	if on != "capabilities (status:CapEff): 0000000000000000: true\ndenied action (raw-socket): EPERM: true" || !strings.HasSuffix(off, "denied action (raw-socket): allowed: true") {
		t.Errorf("all:\n%s\n%s", on, off)
	}
	on, off = shown(t, &capabilities{Drop: []string{"CAP_SYS_CHROOT"}}, site)
	if !strings.HasSuffix(on, "denied action (chroot): EPERM: true") || !strings.HasSuffix(off, "denied action (chroot): allowed: true") {
		t.Errorf("one:\n%s\n%s", on, off)
	}
	site = layertest.Broken(site)
	if on, _ = shown(t, &capabilities{Drop: []string{"SYS_CHROOT"}}, site); strings.Contains(on, "true") || on == "" {
		t.Errorf("with a broken helper:\n%s", on)
	}
}

func TestNoNewPrivs(t *testing.T) {
	site := localtest.Host(t)
	on, off := shown(t, &noNewPrivs{}, site)
	if on != "no_new_privs (status:NoNewPrivs): 1: true" || off != "no_new_privs (status:NoNewPrivs): 0: true" {
		t.Errorf("%s\n%s", on, off)
	}
	site = layertest.Broken(site)
	if on, _ = shown(t, &noNewPrivs{}, site); on != "no_new_privs (status:NoNewPrivs): 0: false" {
		t.Errorf("with a broken helper: %s", on)
	}
}

func TestValidate(t *testing.T) {
	want := []experiment.FieldError{{Field: "drop[1]", Message: `"NET_WRAW" is not a capability; use names such as NET_RAW`}}
	if diff := cmp.Diff(want, (&capabilities{Drop: []string{"CAP_NET_RAW", "NET_WRAW", all}}).validate()); diff != "" {
		t.Error(diff)
	}
}
