package http

import (
	"context"
	"flag"
	"math"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/stats"
	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/staircase"
	"tare/internal/workload/workloadtest"
)

func TestMain(m *testing.M) { localtest.Main(m, Helpers...) }

var searches = flag.Int("searches", 5, "searches of TestWorkersOfAKnownLimit, in groups of 5 with an interval each")

// here is a site whose pods are this machine.
type here struct{ testbed.Site }

func (h here) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return h.Site.Start(ctx, testbed.Host, cmd)
}

// limited is a server that refuses requests while it answers most others. An answer takes long enough for a try's first
// requests to meet at the server.
func limited(t testing.TB, most int64) *httptest.Server {
	var underWay atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer underWay.Add(-1)
		if underWay.Add(1) > most {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		time.Sleep(20 * time.Millisecond) // the server's work, whose length the truth does not depend on
	}))
	t.Cleanup(s.Close)
	return s
}

// Searches find how many workers a server carries that refuses more requests at a time. They say how their intervals
// cover the truth:
//
//	go test ./internal/workload/http -run TestWorkersOfAKnownLimit -v -searches 100
func TestWorkersOfAKnownLimit(t *testing.T) {
	slow.Test(t)
	const most, group = 100, 5
	truth := math.Log(most + 0.5) // a search tries whole numbers of workers: 100.4 are tried as 100
	half := math.Ldexp(math.Ln2, -staircase.Coarse.Halvings) / 2
	c := New().(*Config)
	c.URL, c.Workers, c.Objective = limited(t, most).URL, factor.Of(60), &Objective{}
	c.Duration, c.Warmup = quantity.Duration(60*time.Millisecond), 0
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	site := here{localtest.Host(t)}
	var found []float64
	within, held := 0, 0
	for i := range *searches {
		raw := new(workloadtest.Raw)
		measured, err := c.Prepare(t.Context(), &workload.Trial{Site: site, Raw: raw, Round: i, Seed: uint64(i)})
		if err != nil {
			t.Fatal(err)
		}
		result, err := measured(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		x := math.Log(result.Values["capacity"])
		if found = append(found, x); math.Abs(x-truth) <= half {
			within++
		}
		if math.Abs(x-truth) > 2*half {
			t.Errorf("search %d found %.1f workers of %d", i, math.Exp(x), most)
		}
		var record staircase.Record[searchTry]
		raw.JSON(t, "search.json", &record)
		for _, try := range record.Tries {
			if try.Carried != (try.Workers <= most) && try.Workers <= most || try.Result.Due < int64(try.Workers) {
				t.Errorf("%d workers: carried %v, %d requests, %v", try.Workers, try.Carried, try.Result.Due, try.Result.Errors)
			}
		}
		if len(found)%group == 0 {
			mean, sd := spread(found[i+1-group:])
			if math.Abs(mean-truth) <= stats.StudentQuantile(0.975, group-1)*sd/math.Sqrt(group) {
				held++
			}
		}
	}
	mean, sd := spread(found)
	t.Logf("%d workers: %d searches found %.1f on average (%+.1f %%), with a deviation of %.1f %%; %d within half a step (%.1f %%); %d of %d intervals of %d searches each hold the truth (95 %%, Student's t)", most,
		len(found), math.Exp(mean), 100*(math.Exp(mean-truth)-1), 100*sd, within, 100*half, held, len(found)/group, group)
}

func spread(x []float64) (mean, sd float64) {
	mean = stats.Mean(x)
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}
