package gvisor

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

func TestMain(m *testing.M) { layertest.Main(m) }

func TestProofs(t *testing.T) {
	slow.Test(t)
	found := Kind.Probe(t.Context())
	for _, f := range found {
		t.Run(f.Name, func(t *testing.T) {
			if f.Status != testbed.Works {
				t.Skipf("%s: %s: %s", f.Status, f.Detail, f.Hint)
			}
			site := localtest.Network(t, 0, 1500)
			c := &config{Platform: factor.Of(platform(f.Name)), Around: layer.Server}
			a := layertest.Up(t, c, site)
			t.Logf("%+v", layertest.Settle(t, a))
			if a.Uncounted {
				t.Fatal("uncounted")
			}
			if on := layertest.On(t, a, site); len(on) != 1 || !on[0].OK || !strings.Contains(on[0].Observed, "gvisor; outside ") {
				t.Errorf("on: %+v", on)
			}
			if off := layertest.Off(t, c, site); len(off) != 1 || !off[0].OK {
				t.Errorf("off: %+v", off)
			}
			if gone := layertest.Before(t, a, site); len(gone) != 1 || gone[0].OK {
				t.Errorf("taken away: %+v", gone)
			}
			killed(t, site, a)
			if err := a.Down(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// killed kills a server in gVisor, and looks for leftover mounts and interfaces.
func killed(t *testing.T, site testbed.Site, a *layer.Active) {
	t.Helper()
	before := traces(t)
	process, err := layer.WithWrappers(site, a).Start(t.Context(), testbed.ServerPod, testbed.Command{Args: []string{"sh", "-c", "echo up; sleep 100"}, Subject: true})
	if err != nil {
		t.Fatal(err)
	}
	for used := time.Duration(0); used < 100*time.Millisecond; { // the server is up by then
		if used, err = process.CPU(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := process.Kill(); err != nil {
		t.Error(err)
	}
	if after := traces(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func traces(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	return string(mounts) + strconv.Itoa(strings.Count(string(interfaces), "\n"))
}
