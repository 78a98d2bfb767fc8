package accounting

import (
	"testing"
	"time"

	"tare/internal/testbed"
)

const processMetrics = `# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 4.194304e+06
process_resident_memory_bytes_of_another 1
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.76394e+09
`

func TestParseProcess(t *testing.T) {
	got, err := parseProcess([]byte(processMetrics))
	if want := (serverProcess{started: 1.76394e9, cpu: 12500 * time.Millisecond, memory: 4 << 20}); err != nil || *got != want {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	if got, err := parseProcess([]byte(processMetrics[:200])); err == nil || err.Error() != "/metrics of the API server: no process_start_time_seconds" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The usage of an API server is known only if one process answered both readings.
func TestServerSince(t *testing.T) {
	at := func(started float64, cpu int, second float64) *serverProcess {
		return &serverProcess{started: started, cpu: time.Duration(cpu) * time.Second, memory: int64(cpu), at: epoch.Add(seconds(second))}
	}
	for _, c := range []struct {
		name          string
		before, after *serverProcess
		want          *testbed.Observed // nil: not known
	}{
		{"one process", at(1, 5, 0), at(1, 7, 4), &testbed.Observed{CPU: 2 * time.Second, Wall: 4 * time.Second, Memory: 7}},
		{"restarted, or another one of several", at(1, 5, 0), at(2, 7, 4), nil},
		{"no answer before", nil, at(1, 7, 4), nil},
		{"no answer after", at(1, 5, 0), nil, nil},
	} {
		b, a := readings(nil, nil)
		b.server, a.server = c.before, c.after
		got, known := between(b, a)(sampledPods{server: "api"}).Observed["api"]
		if known != (c.want != nil) || known && got != *c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, known, c.want)
		}
		if all := between(b, a)(sampledPods{}).Observed; len(all) > 0 {
			t.Errorf("%s: nobody observes, and there is %+v", c.name, all)
		}
	}
}
