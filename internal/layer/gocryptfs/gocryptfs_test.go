package gocryptfs

import (
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/layer/layertest"
	"tare/internal/layer/volumes"
	"tare/internal/layer/volumes/volumestest"
	"tare/internal/testbed"
)

// TestProofs encrypts a volume, and shows that the proofs can fail.
func TestProofs(t *testing.T) {
	for cipher := range ciphers {
		l := &config{Cipher: factor.Of(cipher)}
		site, up, checks := volumestest.Up(t, Kind, l)
		if got := volumestest.Text(checks); got != "marker on the device: true; cipher of the directory: true; file system of the volume: true" {
			t.Errorf("%s: on: %s\n%+v", cipher, got, checks)
		}
		if got := volumestest.Text(layertest.Off(t, l, site)); got != "file system of the volume: false" {
			t.Errorf("%s: off, while it is on: %s", cipher, got)
		}
		backed, _ := testbed.As[testbed.BackedVolume](site)
		if list := backed.VolumeBacking(); len(list) != 2 || !strings.HasSuffix(list[1], "/cipher") {
			t.Errorf("behind the volume: %v", list)
		}
		costs, err := up.Costs()
		if err != nil || len(costs) != 1 || costs[0].Part != "daemon" || costs[0].CPU <= 0 || costs[0].Memory < 1<<20 {
			t.Errorf("costs: %+v, %v", costs, err)
		}
		// Something other than Tare unmounts the file system.
		stack, err := volumes.Stack(site)
		if err != nil {
			t.Fatal(err)
		}
		p, err := site.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{"umount", "--lazy", stack.Volume()}})
		if err == nil {
			_, err = p.Wait()
		}
		if err != nil {
			t.Fatal(err)
		}
		if checks, err := up.Before(t.Context(), site); err != nil || checks[0].OK || checks[0].Observed != "its file system is not mounted" {
			t.Errorf("unmounted: %+v, %v", checks, err)
		}
		if err := up.Down(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := volumestest.Text(layertest.Off(t, newLayer(), volumestest.Plain(t))); got != "marker on the device: true; file system of the volume: true" {
		t.Errorf("off: %s", got)
	}
}

func TestHasAES(t *testing.T) {
	for text, want := range map[string]bool{
		"processor\t: 0\nflags\t\t: fpu vme aes avx\n": true,
		"Features\t: fp asimd aes pmull\n":             true,
		"flags\t\t: fpu vaes\n":                        false,
		"model name\t: aes\n":                          false,
	} {
		if hasAES(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
