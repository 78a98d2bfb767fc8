// Package localtest opens sites of the local testbed for tests, and closes them with the test. Main is for test
// programs with helpers.
package localtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Main is the body of TestMain for a test program with helpers. If a site starts the program as a helper, Main runs the
// helper, and no tests.
func Main(m *testing.M, helpers ...testbed.Helper) {
	name := testbed.HelperName()
	i := slices.IndexFunc(helpers, func(h testbed.Helper) bool { return h.Name == name })
	if i < 0 {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := helpers[i].Run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Host opens a site without a network. It needs no rights.
func Host(t testing.TB) testbed.Site {
	t.Helper()
	return open(t, experiment.Needs{}, nil)
}

// Network opens a site with a wire of this rate and MTU. With -short, or if this process may
// not make networks, it skips the test.
func Network(t testing.TB, rate quantity.Rate, mtu int) testbed.Site {
	t.Helper()
	return Members(t, 1, rate, mtu)
}

// Members opens a site with a network and a service, each member with its own node and volume. It skips the test with
// -short or without rights.
func Members(t testing.TB, members int, rate quantity.Rate, mtu int) testbed.Site {
	t.Helper()
	slow.Test(t)
	if local.NeedsUserNamespace() {
		t.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	return open(t, experiment.Needs{Network: true, Members: members, MemberVolume: 1}, &experiment.Local{Link: experiment.Link{Rate: factor.Of(rate), MTU: factor.Of(mtu)}})
}

// Volume opens a site with a volume in the client's pod, which the test must make by Ready. It skips the test with
// -short or if volumes are impossible.
func Volume(t testing.TB, size quantity.Size, block bool) testbed.Site {
	t.Helper()
	slow.Test(t)
	for _, f := range local.ProbeVolume(t.Context()) {
		if f.Status != testbed.Works {
			t.Skipf("%s: %s (%s)", f.Name, f.Status, f.Detail)
		}
	}
	return open(t, experiment.Needs{Volume: &experiment.Volume{Size: size, Block: block}}, experiment.Testbed{}.Level())
}

func open(t testing.TB, needs experiment.Needs, level any) testbed.Site {
	t.Helper()
	bed, err := local.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	site, err := bed.Open(t.Context(), testbed.Request{Name: "test", Needs: needs, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return site
}
