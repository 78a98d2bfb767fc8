// Package volumestest helps tests of layers for volumes to use a real volume.
package volumestest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// Size is the size of the volumes in bytes.
const Size = 128 << 20

// Up puts a layer on a volume and creates the volume. The returned checks are those of the set-up and of one trial. If
// the system refuses the layer or a program is missing, Up skips the test.
func Up(t testing.TB, kind layer.Kind, l layer.Layer) (testbed.Site, *layer.Active, []layer.Check) {
	t.Helper()
	if found := kind.Probe(t.Context()); !slices.ContainsFunc(found, func(f testbed.Finding) bool { return f.Status == testbed.Works }) {
		t.Skipf("%+v", found)
	}
	site := localtest.Volume(t, Size, false)
	up := layertest.Up(t, l, site)
	if err := site.(testbed.Staged).Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if up.Down != nil {
		t.Cleanup(func() {
			if err := up.Down(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	return site, up, append(layertest.Settle(t, up), layertest.Before(t, up, site)...)
}

// Plain returns a site with a volume without any layer.
func Plain(t testing.TB) testbed.Site {
	t.Helper()
	site := localtest.Volume(t, Size, false)
	if err := site.(testbed.Staged).Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return site
}

// Text lists checks on one line: the name of each, and whether it holds.
func Text(checks []layer.Check) string {
	return strings.Join(lists.Map(checks, func(c layer.Check) string { return fmt.Sprintf("%s: %t", c.Name, c.OK) }), "; ")
}
