package accounting

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"tare/testbed"
	"tare/testbed/kube/cluster"
)

// An API server often is no pod, and its machine no node. So it is not read from cgroups but by the
// counters of its process, which it serves itself (Prometheus' process collector).

// metricsLimit is how long an API server may take to give its metrics.
const metricsLimit = 10 * time.Second

// serverProcess is what the process of an API server has used.
type serverProcess struct {
	started float64 // seconds since 1970: it tells the process from others
	cpu     time.Duration
	memory  int64 // resident, B
	at      time.Time
}

// readServer asks the API server for the counters of its process. Where there are several, one of
// them answers.
func readServer(ctx context.Context, client kubernetes.Interface) (*serverProcess, error) {
	limited, cancel := context.WithTimeout(ctx, metricsLimit)
	defer cancel()
	text, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(limited)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", cluster.Explain(err))
	}
	p, err := parseProcess(text)
	if p != nil {
		p.at = time.Now()
	}
	return p, err
}

// parseProcess reads the counters of a process in Prometheus' text format.
func parseProcess(text []byte) (*serverProcess, error) {
	values := map[string]float64{"process_start_time_seconds": -1, "process_cpu_seconds_total": -1, "process_resident_memory_bytes": -1}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if _, wanted := values[name]; !wanted {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	for name, v := range values {
		if !(v >= 0 && v < 1e18) { // NaN, too
			return nil, fmt.Errorf("/metrics of the API server: no %s", name)
		}
	}
	return &serverProcess{started: values["process_start_time_seconds"], memory: int64(values["process_resident_memory_bytes"]),
		cpu: time.Duration(min(values["process_cpu_seconds_total"], 1e9) * float64(time.Second))}, nil
}

// since is what an API server used between two readings; false where one failed, or
// where another process answered: what both have used is not known.
func (p *serverProcess) since(before *serverProcess) (testbed.Observed, bool) {
	if p == nil || before == nil || p.started != before.started || p.cpu < before.cpu {
		return testbed.Observed{}, false
	}
	return testbed.Observed{CPU: p.cpu - before.cpu, Wall: p.at.Sub(before.at), Memory: p.memory}, true
}
