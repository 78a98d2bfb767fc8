package accounting

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/toolformat/promtext"
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

// The counters that are read.
const (
	startTime = "process_start_time_seconds"
	usedTime  = "process_cpu_seconds_total"
	resident  = "process_resident_memory_bytes"
)

// parseProcess reads the counters of a process in Prometheus' text format.
func parseProcess(text []byte) (*serverProcess, error) {
	values, err := promtext.Values(text, startTime, usedTime, resident)
	if err != nil {
		return nil, fmt.Errorf("/metrics of the API server: %w", err)
	}
	return &serverProcess{started: values[startTime], memory: int64(values[resident]),
		cpu: time.Duration(min(values[usedTime], 1e9) * float64(time.Second))}, nil
}

// since is what an API server used between two readings; false where one failed, or
// where another process answered: what both have used is not known.
func (p *serverProcess) since(before *serverProcess) (testbed.Observed, bool) {
	if p == nil || before == nil || p.started != before.started || p.cpu < before.cpu {
		return testbed.Observed{}, false
	}
	return testbed.Observed{CPU: p.cpu - before.cpu, Wall: p.at.Sub(before.at), Memory: p.memory}, true
}
