package command

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/environ"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// config makes a config that runs a shell text and reads metrics.
func config(shell string, metrics ...metric) *Config {
	c := New().(*Config)
	c.Shell, c.Read = shell, metrics
	return c
}

func run(ctx context.Context, c *Config, site testbed.Site, raw workload.Raw) (workload.Result, error) {
	return workloadtest.Run(ctx, c, &workload.Trial{Site: site, Raw: raw})
}

func TestMetricsFromOutput(t *testing.T) {
	const lines = `printf 'took 12.5 ms\ntook 7.5 ms\n'; echo 'rate: 3e3/s' >&2`
	const document = `echo '{"results": [{"p99": 1.5, "n.a": "42"}], "bad": null}'`
	tests := []struct {
		name   string
		shell  string
		metric metric
		want   float64
	}{
		{"regex", lines, metric{Regex: `took ([0-9.]+) ms`}, 12.5},
		{"regex of a whole line", "echo n; echo 7; echo end", metric{Regex: `^([0-9]+)$`}, 7},
		{"last", lines, metric{Regex: `took ([0-9.]+) ms`, Which: last}, 7.5},
		{"sum", lines, metric{Regex: `took ([0-9.]+) ms`, Which: sum}, 20},
		{"mean", lines, metric{Regex: `took ([0-9.]+) ms`, Which: mean}, 10},
		{"stderr", lines, metric{Regex: `rate: ([^/]+)/s`, Output: stderr}, 3000},
		{"line ends", lines, metric{Regex: `(?m)^took (\S+) ms$`, Which: last}, 7.5},
		{"json", document, metric{JSON: `results[0].p99`}, 1.5},
		{"json text", document, metric{JSON: `.results[0]["n.a"]`}, 42},
		{"json lines", `for i in 1 2 3; do echo "{\"v\": $i}"; echo '{"other": 1}'; done`, metric{JSON: "v", Which: sum}, 6},
		{"bare number", "echo 17", metric{JSON: "$"}, 17},
		{"awk", `awk 'BEGIN { printf "%.3f s\n", 1/8 }'`, metric{Regex: `([0-9.]+) s`}, 0.125},
	}
	site := localtest.Host(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.metric.Name = "m"
			c := config(test.shell, test.metric)
			if errs := c.validate(); len(errs) > 0 {
				t.Fatal(errs)
			}
			got, err := run(t.Context(), c, site, new(workloadtest.Raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]float64{"m": test.want}, got.Values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	c := config("dd if=/dev/zero of=/dev/null bs=60M count=3; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
		metric{Name: "wall", From: wallClock}, metric{Name: "user", From: userCPU}, metric{Name: "system", From: systemCPU},
		metric{Name: "cpu", From: cpu}, metric{Name: "memory", From: peakMemory})
	r, err := run(t.Context(), c, localtest.Host(t), new(workloadtest.Raw))
	if err != nil {
		t.Fatal(err)
	}
	v, used := r.Values, r.Used["command"]
	want := map[string]float64{"wall": used.Wall.Seconds(), "user": used.User.Seconds(), "system": used.System.Seconds(),
		"cpu": (used.User + used.System).Seconds(), "memory": float64(used.MaxRSS)}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	if v["memory"] < 10e6 || v["user"] <= 0 || v["wall"] <= 0 {
		t.Errorf("got %v", v)
	}
}

func TestDefaultMetrics(t *testing.T) {
	c := config("true")
	want := []experiment.Metric{
		{Name: "wall-clock", Unit: "s", Better: experiment.Lower, Headline: true, Scale: experiment.Ratio, FromStart: true},
		{Name: "cpu", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true},
		{Name: "peak-memory", Unit: "B", Better: experiment.Lower, Scale: experiment.Ratio, Optional: true, Discrete: true},
	}
	if diff := cmp.Diff(want, c.measured()); diff != "" {
		t.Error(diff)
	}
	r, err := run(t.Context(), c, localtest.Host(t), new(workloadtest.Raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range want {
		v, ok := r.Values[m.Name]
		if ok != (v > 0) || !ok && !m.Optional {
			t.Errorf("%s is %v", m.Name, v)
		}
	}
}

func TestHeadlines(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name    string
		metrics []metric
		want    []bool
	}{
		{"the first", []metric{{Name: "a", From: cpu}, {Name: "b", From: cpu}}, []bool{true, false}},
		{"chosen", []metric{{Name: "a", From: cpu}, {Name: "b", From: cpu, Headline: &yes}}, []bool{false, true}},
		{"none", []metric{{Name: "a", From: cpu, Headline: &no}, {Name: "b", From: cpu}}, []bool{false, false}},
		{"the first cannot", []metric{{Name: "a", From: cpu, Scale: experiment.Difference}, {Name: "b", From: cpu}}, []bool{false, false}},
	}
	for _, test := range tests {
		var got []bool
		for _, m := range config("true", test.metrics...).measured() {
			got = append(got, m.Headline)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestBrokenRules(t *testing.T) {
	number := metric{Name: "m", Regex: "([0-9]+) ms"}
	long := strings.Repeat("0123456789", 100)
	tests := []struct {
		name   string
		config *Config
		change func(*Config)
		want   string
	}{
		{"exit status", config("echo why >&2; exit 3"), nil, "exit-status: /bin/sh -c 'echo why >&2; exit 3': exit status 3: why"},
		{"signal", config("kill -9 $$"), nil, "exit-status: /bin/sh -c 'kill -9 $$': signal: killed"},
		{"status 0 is not success", config("true"), func(c *Config) { c.OK = []int{2} }, "exit-status: exit status 0, which is not one of [2]"},
		{"no match", config("echo 12 seconds", number), nil, `parse: metric m: no match for ([0-9]+) ms; stdout is "12 seconds\n"`},
		{"no output", config("true", number), nil, `parse: metric m: no match for ([0-9]+) ms; stdout is empty`},
		{"long output", config("echo "+long, number), nil,
			`parse: metric m: no match for ([0-9]+) ms; stdout is "` + long[:80] + `" … "` + long[921:] + `\n" (1001 bytes)`},
		{"no number", config("echo a ms", metric{Name: "m", Regex: "(.*) ms"}), nil, `parse: metric m: "a", matched by (.*) ms, is not a number; stdout is "a ms\n"`},
		{"infinite", config("echo inf ms", metric{Name: "m", Regex: "(.*) ms"}), nil, `parse: metric m: +Inf is not a usable number; stdout is "inf ms\n"`},
		{"no JSON", config("echo oops", metric{Name: "m", JSON: "a"}), nil,
			`parse: metric m: not JSON: invalid character 'o' looking for beginning of value; stdout is "oops\n"`},
		{"no JSON at all", config("true", metric{Name: "m", JSON: "a"}), nil, `parse: metric m: no JSON; stdout is empty`},
		{"no member", config(`echo '{"b": 1}'`, metric{Name: "m", JSON: "a"}), nil, `parse: metric m: $ has no "a"; stdout is "{\"b\": 1}\n"`},
		{"null", config(`echo '{"a": null}'`, metric{Name: "m", JSON: "a"}), nil, `parse: metric m: ["a"] is null, not a number; stdout is "{\"a\": null}\n"`},
		{"too much", config("head -c 17000000 /dev/zero", number), nil, "parse: metric m: stdout is longer than the 16 MiB that are read"},
		{"warm-up", config("echo why >&2; exit 1"), func(c *Config) { c.Warmup = 2 },
			"exit-status: warm-up run 1: /bin/sh -c 'echo why >&2; exit 1': exit status 1: why"},
	}
	site := localtest.Host(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.change != nil {
				test.change(test.config)
			}
			_, err := run(t.Context(), test.config, site, new(workloadtest.Raw))
			var invalid *workload.Invalid
			if !errors.As(err, &invalid) || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	c := config("sleep 60 & sleep 60")
	c.Timeout = quantity.Duration(50 * time.Millisecond)
	_, err := run(t.Context(), c, localtest.Host(t), new(workloadtest.Raw))
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != workload.RuleTimeout || !strings.HasSuffix(invalid.Detail, "the limit is 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := run(ctx, config("sleep 60"), localtest.Host(t), new(workloadtest.Raw)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestSurroundings(t *testing.T) {
	t.Setenv("TARE_TEST_GIVEN", "from outside")
	dir := t.TempDir()
	c := config("pwd; echo $A; echo $B >&2; exit 4")
	c.Dir, c.OK, c.Warmup = dir, []int{0, 4}, 1
	c.Env = environ.Variables{"A": "in file", "B": "$TARE_TEST_GIVEN"}
	raw := new(workloadtest.Raw)
	if _, err := run(t.Context(), c, localtest.Host(t), raw); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"stdout.txt": dir + "\nin file\n", "stderr.txt": "from outside\n",
		"warmup-1-stdout.txt": dir + "\nin file\n", "warmup-1-stderr.txt": "from outside\n",
	}
	if diff := cmp.Diff(want, raw.Texts()); diff != "" {
		t.Error(diff)
	}
	os.Unsetenv("TARE_TEST_GIVEN")
	if _, err := run(t.Context(), c, localtest.Host(t), raw); err == nil || !strings.Contains(err.Error(), "TARE_TEST_GIVEN") {
		t.Errorf("got %v", err)
	}
}

func TestMissingProgram(t *testing.T) {
	c := New().(*Config)
	c.Command = []string{"tare-test-no-such-program"}
	_, err := run(t.Context(), c, localtest.Host(t), new(workloadtest.Raw))
	var invalid *workload.Invalid
	if err == nil || errors.As(err, &invalid) || !strings.Contains(err.Error(), "tare-test-no-such-program") {
		t.Errorf("got %v, want an error that ends the run", err)
	}
}
