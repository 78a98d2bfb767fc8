package syscalls

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/test/golden"
	"tare/internal/testbed"
)

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   []experiment.FieldError
	}{
		{"defaults", func(*Config) {}, nil},
		{"pod", func(c *Config) { c.Image = "busybox" }, nil},
		{"host", func(c *Config) { c.In = testbed.Host }, nil},
		{"short", func(c *Config) { c.Duration = quantity.Duration(time.Millisecond) }, []experiment.FieldError{
			{Field: "duration", Message: "1ms is not a time from 20ms to 1h"},
			{Field: "processes", Message: "8 processes have less than 5ms each of a duration of 1ms"}}},
		{"many", func(c *Config) { c.Processes = 1001 }, []experiment.FieldError{{Field: "processes", Message: "1001 are more than 1000 processes"}}},
		{"place", func(c *Config) { c.In = testbed.ServerNode }, []experiment.FieldError{{Field: "in", Message: "server-node is not one of [host client-pod server-pod]"}}},
		{"server", func(c *Config) { c.In = testbed.ServerPod }, nil},
		{"image", func(c *Config) { c.In, c.Image = testbed.Host, "busybox" }, []experiment.FieldError{{Field: "image", Message: "programs on the host use no image: leave out image, or in: host"}}},
		{"directory", func(c *Config) { c.Directory = "tmp" }, []experiment.FieldError{{Field: "directory", Message: `"tmp" is not an absolute path of up to 3000 bytes`}}},
		{"headline", func(c *Config) { c.Judged = []string{"cpu"} }, []experiment.FieldError{{Field: "headline[0]", Message: `"cpu" is not one of [operation-cpu operation-wall operation-cpu-mean]`}}},
	} {
		c := New().(*Config)
		test.change(c)
		if diff := cmp.Diff(test.want, c.validate()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestNeeds(t *testing.T) {
	c := New().(*Config)
	if d := c.Declare(); d.Needs.Only != "" || !d.Needs.Network {
		t.Errorf("%+v", d)
	}
	c.In = testbed.Host
	if d := c.Declare(); d.Needs.Only != experiment.TestbedLocal || d.Needs.Pods() {
		t.Errorf("%+v", d)
	}
}

func TestHeadline(t *testing.T) {
	for want, judged := range map[string][]string{cpuMetric: nil, wallMetric: {wallMetric}} {
		c := New().(*Config)
		c.Tests, c.Judged = factor.Of(Test("pipe")), judged
		for _, m := range c.Measures().Metrics {
			if m.Headline != (m.Name == want) {
				t.Errorf("%s: headline %v", m.Name, m.Headline)
			}
		}
	}
}

// TestValues checks that a trial's value is the mean over its processes, and a process' value a median.
func TestValues(t *testing.T) {
	c := New().(*Config)
	c.Tests = factor.Of(Test("pipe"))
	s := &trial{config: c, on: nil}
	for _, text := range []string{
		`{"test":"pipe","operations":1000,"batches":3,"cpu":1000000,"cpuTotal":3000000,"wall":2000000,"wallTotal":6000000,"step":100,"on":0}`,
		`{"test":"pipe","operations":2000,"batches":2,"cpu":6000000,"cpuTotal":13000000,"wall":8000000,"wallTotal":16000000,"step":100}`,
	} {
		lines, failed, err := readLines([]byte(text))
		if err != nil || failed != nil {
			t.Fatal(failed, err)
		}
		s.lines = append(s.lines, lines...)
	}
	got := s.values()
	want := map[string]float64{cpuMetric: 2e-6, wallMetric: 3e-6, meanMetric: 16e6 / 7000 / 1e9}
	near := cmpopts.EquateApprox(1e-9, 0)
	if diff := cmp.Diff(want, got.Values, near); diff != "" || got.Work != 7000 {
		t.Error(diff, got.Work)
	}
	s.lines[1].Step = 10_000_000 // a clock that ticks every 10 ms
	got = s.values()
	if diff := cmp.Diff(map[string]float64{wallMetric: 3e-6}, got.Values, near); diff != "" || len(got.Unavailable) != 2 {
		t.Error(diff, got.Unavailable)
	}
}

func TestLines(t *testing.T) {
	const good = `{"test":"stat","operations":1,"batches":1,"cpu":1,"cpuTotal":1,"wall":1,"wallTotal":1,"step":1}` + "\n"
	for text, want := range map[string]string{
		"": "", good: "", good + good: "",
		good + `{"test":"ptrace","failed":"ptrace","errno":1}`: "ptrace: ptrace: " + errorText(1),
		`{"test":"fork","failed":"the process","signal":9}`:    "fork: the process was ended by " + signalText(9),
		`{"test":"read-256","failed":"read","result":12}`:      "read-256: read gave 12",
		`{"test":"stat"}`: "error",
		`{"test":"stat","operations":1,"batches":1,"cpu":-1}`: "error",
		`{"test":`: "error",
		`{"test":"stat","operations":1,"batches":1,"cpu":"12"}`: "error",
	} {
		lines, failed, err := readLines([]byte(text))
		got := ""
		if failed != nil {
			got = failed.failure()
		}
		if err != nil {
			got = "error"
		}
		if got != want || err == nil && len(lines) != strings.Count(text, `"step"`) {
			t.Errorf("%s: %s, %d lines, %v", text, got, len(lines), err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"test":"stat","operations":1,"batches":1,"cpu":1,"cpuTotal":1,"wall":1,"wallTotal":1,"step":1}`))
	f.Add([]byte(`{"test":"ptrace","failed":"ptrace","errno":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines, failed, err := readLines(text)
		if err != nil && (lines != nil || failed != nil) {
			t.Error("an error, and lines")
		}
		if failed != nil && failed.failure() == "" {
			t.Error("no reason")
		}
	})
}

// TestBuilt checks that the programs were compiled from the present sources.
func TestBuilt(t *testing.T) {
	golden.Built(t, "probe", "probe", "build", "probe.c", "../../../../cmd/launcher/native/system.h", "tests.h", "probe-amd64", "probe-arm64")
}
