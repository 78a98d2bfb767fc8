package startup

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

func config(run ...string) *Config {
	c := New().(*Config)
	c.Command, c.Starts = run, 5
	return c
}

// trial runs a trial, and calls its Clear.
func trial(t *testing.T, c *Config, site testbed.Site) (workload.Result, *workloadtest.Raw, error) {
	t.Helper()
	raw := new(workloadtest.Raw)
	one := &workload.Trial{Site: site, Raw: raw, Round: 1}
	defer func() {
		if one.Clear != nil {
			if err := one.Clear(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}()
	r, err := workloadtest.Run(t.Context(), c, one)
	return r, raw, err
}

func starts(t *testing.T, raw *workloadtest.Raw) (list []start) {
	t.Helper()
	raw.JSON(t, "starts.json", &list)
	return list
}

// Tare's own program and any other are started as often as the config asks for. The metric is the mean of the starts.
func TestColdStarts(t *testing.T) {
	site := localtest.Host(t)
	for name, c := range map[string]*Config{"own": config(), "given": config("sh", "-c", "echo up"), "stays": config("sh", "-c", "echo up; sleep 1000")} {
		c.Stays = name == "stays"
		r, raw, err := trial(t, c, site)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sum := 0.0
		list := starts(t, raw)
		for _, s := range list {
			sum += s.First
		}
		if len(list) != 5 || r.Work != 5 || r.Values[mean] <= 0 || r.Values[mean] != sum/5 || len(r.Values) != 1 {
			t.Errorf("%s: %d starts, %+v", name, len(list), r)
		}
		used := r.Used["program"]
		if used.Wall <= 0 || name != "own" && used.CPU() <= 0 {
			t.Errorf("%s used %+v", name, used)
		}
	}
}

// A wrapper that takes 5 ms more before the first byte adds them to every start. Its time after the first byte does
// not count.
func TestKnownEffect(t *testing.T) {
	site := localtest.Host(t)
	front := func(text string) testbed.Site {
		return layer.WithWrappers(site, &layer.Active{Wrap: func(cmd testbed.Command) testbed.Command {
			cmd.Args = append([]string{"sh", "-c", text, "sh"}, cmd.Args...)
			return cmd
		}})
	}
	late := func(site testbed.Site) (n int) {
		_, raw, err := trial(t, config(), site)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range starts(t, raw) {
			if s.First >= 0.005 {
				n++
			}
		}
		return n
	}
	if n := late(front(`sleep 0.005; exec "$@"`)); n != 5 {
		t.Errorf("%d of 5 starts took 5 ms", n)
	}
	slow, _, err := trial(t, config(), front(`"$@"; sleep 0.05`))
	if err != nil {
		t.Fatal(err)
	}
	if whole := slow.Used["program"].Wall.Seconds() / 5; whole < 0.05 || slow.Values[mean] > whole-0.05 {
		t.Errorf("first byte after %v s of %v s", slow.Values[mean], whole)
	}
}

// A quantile is a metric if a hundred starts lie beyond it.
func TestQuantiles(t *testing.T) {
	for n, want := range map[int]string{1: "", 199: "", 200: "start-p50", 999: "start-p50", 1000: "start-p50 start-p90"} {
		c := config()
		c.Starts = n
		var names []string
		for _, m := range c.Measures().Metrics {
			if strings.HasPrefix(m.Name, "start-p") {
				names = append(names, m.Name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%d starts: %q, want %q", n, got, want)
		}
	}
	c := config()
	c.Starts = 200
	r, _, err := trial(t, c, localtest.Host(t))
	if err != nil || r.Values["start-p50"] <= 0 {
		t.Errorf("%+v, %v", r.Values, err)
	}
}

// A sliced trial has as many starts as a whole one, at least one in each slice.
func TestSlices(t *testing.T) {
	site := localtest.Host(t)
	for _, c := range []struct{ starts, slices, want int }{{10, 4, 10}, {2, 4, 4}} {
		w, raw := config(), new(workloadtest.Raw)
		w.Starts = c.starts
		one := &workload.Trial{Site: site, Raw: raw, Round: 1}
		s, err := w.PrepareSlices(t.Context(), one, c.slices)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.slices {
			if err := s.Run(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Finish(t.Context())
		if err != nil || int(r.Work) != c.want || len(starts(t, raw)) != c.want || r.Values[mean] <= 0 {
			t.Errorf("%d starts in %d slices: %v, %v", c.starts, c.slices, r.Work, err)
		}
	}
}

// Try starts one instance of either kind, and leaves nothing.
func TestTry(t *testing.T) {
	site := localtest.Host(t)
	stays := config("sh", "-c", "echo up; sleep 1000")
	stays.Instances = factor.Of(100)
	for _, c := range []*Config{config(), stays} {
		if err := c.Try(t.Context(), site); err != nil {
			t.Error(err)
		}
	}
	if err := config("false").Try(t.Context(), site); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenRules(t *testing.T) {
	site := localtest.Host(t)
	short := func(c *Config) *Config { c.Timeout = quantity.Duration(100 * time.Millisecond); return c }
	density := func(c *Config) *Config { c.Instances = factor.Of(2); return c }
	for _, c := range []struct {
		config *Config
		rule   string
		says   string
	}{
		{config("sh", "-c", "echo why >&2; exit 3"), workload.RuleExit, "exit status 3: why"},
		{config("true"), workload.RuleExit, "true printed nothing"},
		{config("sh", "-c", "echo up; exit 4"), workload.RuleExit, "exit status 4"},
		{short(config("sleep", "1000")), workload.RuleTimeout, "nothing was printed after 100ms"},
		{density(config("sh", "-c", "echo up")), workload.RuleExit, "an instance has ended by itself"},
	} {
		_, _, err := trial(t, c.config, site)
		var invalid *workload.Invalid
		if !errors.As(err, &invalid) || invalid.Rule != c.rule || !strings.Contains(invalid.Detail, c.says) {
			t.Errorf("%v: %v; want %s: %s", c.config.Command, err, c.rule, c.says)
		}
	}
	if _, _, err := trial(t, config("tare-test-no-such-program"), site); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// A program that has printed its first byte must end within the limit.
func TestRealTimeNotEnded(t *testing.T) {
	m := fit.Machine(t)
	c := config("sh", "-c", "echo up; sleep 1000")
	c.Timeout = quantity.Duration(time.Second)
	_, _, err := trial(t, c, localtest.Host(t))
	if err == nil || !strings.Contains(err.Error(), "it had not ended after 1s") {
		m.Errorf("%v", err)
	}
}

// density returns the resources that n instances use.
func density(t *testing.T, n int, run ...string) map[string]float64 {
	t.Helper()
	c := config(run...)
	c.Instances, c.Duration, c.Settle = factor.Of(n), quantity.Duration(100*time.Millisecond), quantity.Duration(10*time.Millisecond)
	r, raw, err := trial(t, c, localtest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	if raw.Texts()["instances.json"] == "" {
		t.Error("nothing is kept")
	}
	return r.Values
}

// The memory of idle instances grows with their number, and no instance is left.
func TestDensity(t *testing.T) {
	one, ten := density(t, 1), density(t, 10)
	// The kernel charges memory in batches, which are large compared with the memory of one sleep.
	if one[memory] < 4096 || ten[memory] < 2*one[memory] || ten[memory] > 20*one[memory] {
		t.Errorf("memory of one %v, of ten %v", one[memory], ten[memory])
	}
	// Instances that write 8 MiB each add 8 MiB each.
	const hold = `x=$(head -c 8388608 /dev/zero | tr '\0' x); echo up; read -r _ < "$0"`
	fifo := t.TempDir() + "/fifo"
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Skip(err)
	}
	few, more := density(t, 1, "sh", "-c", hold, fifo), density(t, 3, "sh", "-c", hold, fifo)
	if added := (more[memory] - few[memory]) / 2; added < 8<<20 || added > 64<<20 {
		t.Errorf("each adds %v bytes", added)
	}
}

// Instances use CPU time when they compute, and none when they are idle.
func TestRealTimeDensity(t *testing.T) {
	m := fit.Machine(t)
	if idle := density(t, 10); idle[cpu] != 0 {
		m.Errorf("ten idle ones use %v cores", idle[cpu])
	}
	if busy := density(t, 1, "sh", "-c", "echo up; while :; do :; done"); busy[cpu] < 0.05 || busy[cpu] > 1.5 {
		m.Errorf("a busy one uses %v cores", busy[cpu])
	}
}
