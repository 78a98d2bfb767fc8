package promtext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const process = `# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 12.5
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes  4.194304e+06 1763940000000
process_resident_memory_bytes_of_another 1
labelled{a="b"} 3
`

func TestValues(t *testing.T) {
	long := "long " + strings.Repeat("x", 100_000) + "\n"
	got, err := Values([]byte(long+process), "process_cpu_seconds_total", "process_resident_memory_bytes")
	if diff := cmp.Diff(map[string]float64{"process_cpu_seconds_total": 12.5, "process_resident_memory_bytes": 4 << 20}, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	for _, text := range []string{"", "process_cpu_seconds_total NaN", "process_cpu_seconds_total -3", "process_cpu_seconds_total 1e30", process[:120], "<html>"} {
		if got, err := Values([]byte(text), "process_cpu_seconds_total"); err == nil || err.Error() != "no process_cpu_seconds_total" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzValues(f *testing.F) {
	f.Add([]byte(process))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := Values(text, "process_cpu_seconds_total"); err == nil && !(got["process_cpu_seconds_total"] >= 0) {
			t.Error(got)
		}
	})
}
