// Package layertest helps tests of layers: it puts layers up, makes their checks and takes them down. If a step fails,
// the test ends.
package layertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/local/localtest"
)

// Main is the TestMain of a layer's tests. Tests may start their own executable as package wrapper's prober, or as a
// helper of the given layers.
func Main(m *testing.M, kinds ...layer.Kind) {
	helpers := lists.Map(kinds, func(k layer.Kind) testbed.Helper { return testbed.Helper{Name: k.Name, Run: k.Helper} })
	localtest.Main(m, append(helpers, testbed.Helper{Name: wrapper.Prober, Run: wrapper.Probe})...)
}

// Broken returns a site at which launchers start their program without any restriction.
func Broken(site testbed.Site) testbed.Site { return broken{site} }

type broken struct{ testbed.Site }

func (b broken) Unwrap() testbed.Site { return b.Site }

func (b broken) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	cmd.Args = slices.Clone(cmd.Args)
	for i, arg := range cmd.Args {
		if launcher.Count([]string{arg}) > 0 {
			cmd.Args[i] = launcher.Settings{}.Argument()
		}
	}
	return b.Site.Start(ctx, where, cmd)
}

// Up puts a layer up at a site. If the site is a testbed.Staged, the caller must call the site's Ready afterwards.
func Up(t testing.TB, l layer.Layer, site testbed.Site, places ...testbed.Place) *layer.Active {
	t.Helper()
	a, err := l.Up(t.Context(), new(layer.Run).At(site, places...))
	return must(t, a, err)
}

func must[T any](t testing.TB, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// Settle calls the layer's Settle and returns its checks, which are made once per set-up.
func Settle(t testing.TB, a *layer.Active) []layer.Check {
	t.Helper()
	checks, err := a.Settle(t.Context())
	return must(t, checks, err)
}

// On returns the checks that the layer makes before each trial of its own arm. Checks that are made only once per
// set-up are left out.
func On(t testing.TB, a *layer.Active, site testbed.Site) []layer.Check {
	t.Helper()
	return slices.DeleteFunc(Before(t, a, layer.WithWrappers(site, a)), func(c layer.Check) bool { return c.Once })
}

// Before returns the layer's checks before a trial at any site, for example one without the layer.
func Before(t testing.TB, a *layer.Active, site testbed.Site) []layer.Check {
	t.Helper()
	checks, err := a.Before(t.Context(), site)
	return must(t, checks, err)
}

// After returns the layer's checks after a trial.
func After(t testing.TB, a *layer.Active, did layer.Did) []layer.Check {
	t.Helper()
	checks, err := a.After(t.Context(), did)
	return must(t, checks, err)
}

// Off returns the checks of ProveOff at the site of an arm without the layer.
func Off(t testing.TB, l layer.Layer, site testbed.Site, places ...testbed.Place) []layer.Check {
	t.Helper()
	checks, err := l.ProveOff(t.Context(), new(layer.Run).At(site, places...))
	return must(t, checks, err)
}

// Leaky returns a site of an arm without the layer, where programs go through the layer all the same. A proof must
// detect this error.
func Leaky(site testbed.Site, a *layer.Active) testbed.Site {
	return struct{ testbed.Site }{layer.WithWrappers(site, a)} // callers cannot find the wrappers, since the method Unwrap is hidden
}

// Text lists checks, one per line: "name: observed: true".
func Text(checks []layer.Check) string {
	return strings.Join(lists.Map(checks, func(c layer.Check) string { return fmt.Sprintf("%s: %s: %t", c.Name, c.Observed, c.OK) }), "\n")
}
