package storage

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/layer/fscrypt"
	"tare/internal/layer/gocryptfs"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
)

// volumeOf makes a volume on this machine, with a layer or without.
func volumeOf(t *testing.T, kind *layer.Kind) testbed.Site {
	t.Helper()
	needFio(t)
	if kind != nil && !slices.ContainsFunc(kind.Probe(t.Context()), func(f testbed.Finding) bool { return f.Status == testbed.Works }) {
		t.Skipf("%s: %+v", kind.Name, kind.Probe(t.Context()))
	}
	site := localtest.Volume(t, 128<<20, false)
	if kind != nil {
		up, err := kind.New().Up(t.Context(), new(layer.Run).At(site))
		if err != nil {
			t.Fatal(err)
		}
		if up.Down != nil {
			t.Cleanup(func() { _ = up.Down(t.Context()) })
		}
	}
	if err := site.(testbed.Staged).Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return site
}

// TestSilentlyBuffered asks for direct I/O on volumes that accept O_DIRECT and use the page cache: fscrypt without
// inline encryption caches the file itself, and gocryptfs caches the encrypted file behind it. Such a trial breaks
// the rule, or has buffered- metrics. Without the layer, the same volume is read past the cache.
func TestSilentlyBuffered(t *testing.T) {
	for name, kind := range map[string]*layer.Kind{"plain": nil, "fscrypt": &fscrypt.Kind, "gocryptfs": &gocryptfs.Kind} {
		t.Run(name, func(t *testing.T) {
			site := volumeOf(t, kind)
			for i, op := range []operation{randomRead, randomWrite} {
				c := short(op)
				c.Direct = pastCache
				raw := &memory{round: 1}
				r, err := run(t.Context(), c, site, raw)
				var broken *workload.Invalid
				switch {
				case raw.Texts()["page-cache.json"] == "":
					t.Errorf("%s: nobody looked at the page cache: %v", op, err)
				case kind == nil && (err != nil || r.Values[c.prefix(false)+"-iops"] <= 0):
					t.Errorf("%s: %v, %v", op, r.Values, err)
				case kind != nil && (!errors.As(err, &broken) || broken.Rule != workload.RuleDirect || !strings.Contains(broken.Detail, "the page cache was used: after the trial it held ")):
					t.Errorf("%s: %v, %v", op, r.Values, err)
				}
				if broken != nil {
					t.Logf("%s: %v", op, broken)
				}
				if i > 0 {
					continue
				}
				c.Direct = auto
				r, err = run(t.Context(), c, site, &memory{round: 2})
				if want := c.prefix(kind != nil) + "-iops"; err != nil || r.Values[want] <= 0 {
					t.Errorf("%s, auto: no %s among %v, %v", op, want, r.Values, err)
				}
				if not := c.prefix(kind == nil) + "-iops"; r.Values[not] != 0 {
					t.Errorf("%s, auto: %s is %v", op, not, r.Values[not])
				}
			}
		})
	}
}

// TestCold reads each block once, and no block from the page cache.
func TestCold(t *testing.T) {
	site := volumeOf(t, nil)
	c := short(read)
	c.Cold, c.BlockSize, c.IODepth, c.Engine = true, factor.Of[quantity.Size](4<<10), factor.Of(1), pSync
	for range 2 {
		raw := &memory{}
		r, err := run(t.Context(), c, site, raw)
		if err != nil && !strings.Contains(err.Error(), "give a larger size") { // a fast device reads 16 MiB in less than 0.1 s
			t.Fatal(err)
		}
		if err == nil && r.Work*1e9 > float64(c.Size) {
			t.Errorf("%v bytes were read of %v", r.Work*1e9, c.Size)
		}
		t.Log(fmt.Sprint(r.Values, err))
	}
}
