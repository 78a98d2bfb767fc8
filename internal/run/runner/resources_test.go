package runner

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/testbed"
	"tare/internal/workload"
)

// meteredBed has sites whose wire loses one packet between two readings.
type meteredBed struct {
	fakeBed
	readings *uint64
}

func (b meteredBed) Open(context.Context, testbed.Request) (testbed.Site, error) {
	return meteredSite{readings: b.readings}, nil
}

type meteredSite struct {
	fakeSite
	readings *uint64
}

func (s meteredSite) Meter(context.Context) ([]testbed.Resource, error) {
	*s.readings++
	return []testbed.Resource{{Name: testbed.ResourceWire, Dropped: *s.readings}}, nil
}

// TestResources: a site's counters are read once before and once after a trial, and never during it. Values from the
// workload take precedence.
func TestResources(t *testing.T) {
	own := []testbed.Resource{{Name: testbed.ResourceWire, Dropped: 7}}
	for _, c := range []struct{ own, want []testbed.Resource }{
		{nil, []testbed.Resource{{Name: testbed.ResourceWire, Dropped: 1}}},
		{own, own},
	} {
		var readings, before uint64
		w := &fakeWorkload{run: func(int) (workload.Result, error) {
			if before++; readings != 2*before-1 {
				t.Errorf("%d readings in trial %d", readings, before)
			}
			r := good()
			r.Resources = c.own
			return r, nil
		}}
		j := finished(t, expand(w), func(o *Options) { o.Testbed = meteredBed{readings: &readings} })
		for _, trial := range j.Trials() {
			if diff := cmp.Diff(c.want, trial.Resources); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
	}
}
