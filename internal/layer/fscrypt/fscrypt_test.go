package fscrypt

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/layer/volumes"
	"tare/internal/layer/volumes/volumestest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

// TestProofs encrypts a volume, and shows that the proofs can fail.
func TestProofs(t *testing.T) {
	for _, mode := range []mode{aes256} { // kernels may lack the other modes
		l := &config{Contents: factor.Of(mode)}
		site, up, checks := volumestest.Up(t, Kind, l)
		if got := volumestest.Text(checks); got != "marker on the device: true; driver of "+modes[mode].cipher+": true; encryption policy of the directory: true" {
			t.Errorf("%s: on: %s\n%+v", mode, got, checks)
		}
		if up.Costs != nil {
			t.Error("the kernel has no processes to tell of")
		}
		// With the layer on, the proof that it is off fails, and makes no check of the marker.
		if got := volumestest.Text(layertest.Off(t, l, site)); got != "encryption policy of the directory: false" {
			t.Errorf("%s: off, while it is on: %s", mode, got)
		}
		// A directory without the policy is detected.
		stack, err := volumes.Stack(site)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Dir(stack.Volume())
		if checks, err := policyCheck(stack, other, string(mode)); err != nil || checks[0].OK || checks[0].Observed != none {
			t.Errorf("a directory without: %+v, %v", checks, err)
		}
	}
	if err := try(t, adiantum); err != nil && !strings.HasSuffix(err.Error(), "package not installed (the kernel does not have this cipher)") {
		t.Error(err)
	}
	plain := volumestest.Plain(t)
	if got := volumestest.Text(layertest.Off(t, newLayer(), plain)); got != "marker on the device: true; encryption policy of the directory: true" {
		t.Errorf("off: %s", got)
	}
	// A volume with the marker in clear is not encrypted.
	stack, err := volumes.Stack(plain)
	if err != nil {
		t.Fatal(err)
	}
	if c := volumes.Hidden(name, stack); c.OK || !strings.HasPrefix(c.Observed, "1024 times in the ") {
		t.Errorf("%+v", c)
	}
}

// try creates a volume with a mode that the kernel may lack.
func try(t *testing.T, mode mode) error {
	t.Helper()
	site := localtest.Volume(t, volumestest.Size, false)
	if _, err := (&config{Contents: factor.Of(mode)}).Up(t.Context(), new(layer.Run).At(site)); err != nil {
		return err
	}
	return site.(testbed.Staged).Ready(t.Context())
}
