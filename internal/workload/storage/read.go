package storage

import (
	"math"

	"tare/internal/testbed"
	"tare/internal/toolformat/fio"
	"tare/internal/workload"
)

// quantiles lists the quantiles that are metrics. A trial has a quantile only if at least beyond I/Os took longer.
var quantiles = []struct {
	name     string
	percent  float64
	permille float64 // share of I/Os beyond the quantile, in permille
}{{"p50", 50, 500}, {"p99", 99, 10}, {"p99.9", 99.9, 1}}

const beyond = 100

// covered is the share of the duration in which fio must have done I/O.
const covered = 0.95

// unreadable returns a broken rule for a report that does not show the requested run.
func unreadable(format string, args ...any) error {
	return workload.Invalidf(workload.RuleParse, "fio: "+format, args...)
}

func singleJob(r *fio.Report) (*fio.Job, error) {
	if r == nil {
		return nil, unreadable("no report")
	}
	if len(r.Jobs) != 1 {
		return nil, unreadable("%d jobs are reported, and one was run", len(r.Jobs))
	}
	return &r.Jobs[0], nil
}

// leastCold is the shortest time, in s, in which all data may be read once.
const leastCold = 0.1

// read computes a trial's result from the report of the measured run.
func (c *Config) read(d *jobResult, buffered bool) (workload.Result, error) {
	job, err := singleJob(d.report)
	if err != nil {
		return workload.Result{}, err
	}
	if _, ok := tool.ReadVersion(d.report.Version); !ok {
		return workload.Result{}, unreadable("it reports %.40q as its version", d.report.Version)
	}
	if err := tool.Check(d.report.Version, "the volume"); err != nil {
		return workload.Result{}, err
	}
	failed, _, broken := job.Failures()
	if broken != "" {
		return workload.Result{}, &workload.Invalid{Rule: workload.RuleExit, Detail: broken}
	}
	way, name := job.Write, "write"
	if c.Operations.One().reads() {
		way, name = job.Read, "read"
	}
	if way == nil {
		return workload.Result{}, unreadable("the report has no %s", name)
	}
	wanted := c.Duration.Std().Seconds()
	if c.cold() && way.Bytes == float64(c.Size) { // all of the data was read, once, as cold asks for
		wanted = leastCold
	}
	if c.cold() && wanted == leastCold && way.Runtime/1e3 < leastCold {
		return workload.Result{}, unreadable("all of the data was read in %.3g s, and %.3g s are the least: give a larger size", way.Runtime/1e3, leastCold)
	}
	if !(way.Runtime/1e3 >= covered*wanted) {
		return workload.Result{}, unreadable("it did I/O for %.3g s instead of %.3g s", way.Runtime/1e3, wanted)
	}
	for what, v := range map[string]float64{"io_bytes": way.Bytes, "bw_bytes": way.BytesRate, "clat_ns.N": way.Complete.Count} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return workload.Result{}, unreadable("%s is %g", what, v)
		}
	}
	return workload.Result{
		Values: c.values(job, way, c.prefix(buffered)),
		Used:   map[string]testbed.Usage{part: d.used},
		Work:   way.Bytes / 1e9,
		Failed: failed,
	}, nil
}

// values returns the metrics. A metric that the report lacks is missing. Failed I/Os do not count.
func (c *Config) values(job *fio.Job, way *fio.Way, p string) map[string]float64 {
	values := map[string]float64{}
	set := func(name string, v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			values[p+name] = v
		}
	}
	set("-bandwidth", way.BytesRate)
	set("-iops", way.BytesRate/float64(c.BlockSize.One()))
	set("-latency", way.Complete.Mean/1e9)
	set("-total-latency", way.Whole.Mean/1e9)
	for _, q := range quantiles {
		if ns, ok := way.Complete.Quantile(q.percent); ok && way.Complete.Samples()*q.permille/1000 >= beyond {
			set("-"+q.name, ns/1e9)
		}
	}
	if sync := job.Sync; sync != nil && c.SyncEvery > 0 {
		set("-sync-latency", sync.Whole.Mean/1e9)
		if ns, ok := sync.Whole.Quantile(99); ok && sync.Whole.Samples()*10/1000 >= beyond {
			set("-sync-p99", ns/1e9)
		}
	}
	return values
}
