package accounting

import (
	"context"
	"fmt"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/toolformat/promtext"
)

// An API server often runs outside of pods, on a machine that is not a node. Its usage can therefore not be
// read from cgroups. It is read from the counters of the API server's process, which the API server itself
// serves (Prometheus' process collector).

// metricsLimit is how long an API server may take to return its metrics.
const metricsLimit = 10 * time.Second

// serverProcess is the usage of an API server's process so far.
type serverProcess struct {
	started float64 // start time in seconds since 1970, which identifies the process
	cpu     time.Duration
	memory  int64     // resident memory, in bytes
	at      time.Time // time of the reading
}

// readServer reads the counters of the API server's process. If the cluster has several API
// servers, the counters are those of the server that gets the request.
func readServer(ctx context.Context, client cluster.Client) (*serverProcess, error) {
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

// These are the names of the counters in Prometheus' process collector.
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

// since returns the usage of an API server between two readings. It returns false if a reading failed. It
// also returns false if the readings are of two processes, since their counters cannot be subtracted.
func (p *serverProcess) since(before *serverProcess) (testbed.Observed, bool) {
	if p == nil || before == nil || p.started != before.started || p.cpu < before.cpu {
		return testbed.Observed{}, false
	}
	return testbed.Observed{CPU: p.cpu - before.cpu, Wall: p.at.Sub(before.at), Memory: p.memory}, true
}
