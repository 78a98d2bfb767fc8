package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strings"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/toolformat/fio"
	"tare/internal/workload"
	"tare/internal/workload/storage/residency"
)

var quantiles = []workload.Quantile{0.5, 0.99, 0.999}

const (
	covered   = 0.95 // smallest share of the duration in which fio must have done I/O
	leastCold = 0.1  // shortest time, in s, for a read of all data; a shorter read makes the trial invalid
	mostLines = 4    // lines of standard error that an error shows
	mostSaid  = 600  // characters of standard error that an error shows
)

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
		return workload.Result{}, workload.Invalidf(workload.RuleExit, "%s", broken)
	}
	way, name := job.Write, "write"
	if c.Operations.One().reads() {
		way, name = job.Read, "read"
	}
	if way == nil {
		return workload.Result{}, unreadable("the report has no %s", name)
	}
	wanted := c.Duration.Std().Seconds()
	if c.cold() && way.Bytes == float64(c.Size) { // fio ended before its time because it had read all data once
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

// values returns the metrics in a report of fio, under names that begin with the text p. Failed I/Os do not count.
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
	quantile := func(prefix string, of fio.Latency, q workload.Quantile) {
		if ns, ok := of.Quantile(100 * float64(q)); ok && q.Supported(int(of.Samples())) {
			set(prefix+q.String(), ns/1e9)
		}
	}
	for _, q := range quantiles {
		quantile("-", way.Complete, q)
	}
	if sync := job.Sync; sync != nil && c.SyncEvery > 0 {
		set("-sync-latency", sync.Whole.Mean/1e9)
		quantile("-sync-", sync.Whole, 0.99)
	}
	return values
}

type failure struct {
	name   string
	exit   *testbed.ExitError
	stderr string
}

// Error returns the exit status and the last lines of standard error.
func (f *failure) Error() string {
	how := fmt.Sprintf("exit status %d", f.exit.Code)
	if f.exit.Signal != "" {
		how = "signal: " + f.exit.Signal
	}
	if stderr := lastLines(f.stderr); stderr != "" {
		how += ": " + stderr
	}
	return fmt.Sprintf("fio (%s): %s", f.name, how)
}

func lastLines(text string) string {
	if len(text) > 1<<16 {
		text = text[len(text)-1<<16:]
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	lines = lines[max(0, len(lines)-mostLines):]
	return safetext.Head(strings.Join(lines, "; "), mostSaid)
}

// remedies lists failures of fio that would recur in every trial, and therefore end the run. The texts on standard
// error exist since fio 3.0.
var remedies = []struct{ stderr, why, remedy string }{
	{"support O_DIRECT", "the volume refuses O_DIRECT", "direct: false measures it through the page cache, under metrics of other names"},
	{"No space left on device", "the volume is full", "lower size, or give a larger volume"},
	{"Permission denied", "fio may not write to the volume", workload.VolumeOwner},
	{"Read-only file system", "the volume is mounted read-only", ""},
	{"engines/io_uring.c", "the system refuses io_uring", "engine: libaio, or a seccomp profile that allows io_uring; gVisor has none"},
	{"io_queue_init", "the system has no room for more asynchronous I/O", "raise sysctl fs.aio-max-nr on the node, or lower ioDepth or jobs"},
	{"cpu_set_affinity", "fio may not use the CPUs of cpusAllowed", otherCPUs},
	{"failed parsing cpus_allowed", "the CPUs of cpusAllowed do not exist", otherCPUs},
	{"failed to load engine", "this fio lacks the engine", "another engine, or an image whose fio has it"},
}

const otherCPUs = `the line Cpus_allowed_list of /proc/self/status there lists the CPUs to choose from; cpusAllowed: "" allows all of them`

// explain returns the error of a failed run of fio. If the volume or the system is the cause, this error ends Tare's
// run. Otherwise it breaks a rule.
func explain(err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	for _, r := range remedies {
		if strings.Contains(f.stderr, r.stderr) {
			if r.remedy != "" {
				err = fmt.Errorf("%w (%s)", err, r.remedy)
			}
			return fmt.Errorf("%s: %w", r.why, err)
		}
	}
	return workload.Invalidf(workload.RuleExit, "%v", f)
}

// direct is the parameter direct: it asks for I/O past the page cache (true), through the cache (false), or past the
// cache if possible (auto).
type direct string

const (
	// pastCache asks for I/O past the page cache. A trial whose I/O went through the page cache is invalid.
	pastCache direct = "true"
	// throughCache sends all I/O through the page cache. The names of the metrics begin with buffered-.
	throughCache direct = "false"
	// auto asks for I/O past the page cache, but also accepts I/O through the cache. After such a trial, the names of
	// its metrics begin with buffered-.
	auto direct = "auto"
)

// Describe returns the accepted texts.
func (direct) Describe() string { return "true, false or auto" }

// UnmarshalText parses the parameter.
func (d *direct) UnmarshalText(text []byte) error {
	switch v := direct(strings.ToLower(string(text))); v {
	case pastCache, throughCache, auto:
		*d = v
		return nil
	}
	return fmt.Errorf("%q is not %s", text, d.Describe())
}

// MarshalJSON writes true and false as booleans, and auto as a text.
func (d direct) MarshalJSON() ([]byte, error) {
	if d == auto {
		return json.Marshal(string(d))
	}
	return []byte(d), nil
}

// MarshalText returns the parameter's text in an experiment file.
func (d direct) MarshalText() ([]byte, error) { return []byte(d), nil }

// tolerated is how many bytes of a file may be in the page cache after direct I/O: another process may have read them.
// I/O through the cache exceeds tolerated in a second, unless the I/O is slower than 64 I/Os per second.
const tolerated = 256 << 10

// cached reports whether the trial's I/O went through the page cache. With direct: true in the file, such I/O is an
// error that breaks a rule.
func (t *trial) cached(ctx context.Context) (bool, error) {
	r, err := t.look(ctx, false)
	if err != nil {
		return false, err
	}
	if err := workload.KeepIndented(t.raw, "page-cache.json", r); err != nil {
		return false, err
	}
	most := r.Most()
	if most.Cached <= tolerated && !t.dropped {
		return false, nil
	}
	if t.config.Direct == pastCache {
		return false, workload.Invalidf(workload.RuleDirect, "fio asked for direct I/O, and the page cache was used: after the trial it held %v of %s "+
			"(direct: false measures all arms through the page cache; direct: auto names the metrics of such a trial buffered-)", quantity.Size(most.Cached), most.Path)
	}
	return true, nil
}

// look returns how much of the trial's file, and of the files behind the volume, is in the page cache. With drop = true
// look first drops these files from the page cache.
func (t *trial) look(ctx context.Context, drop bool) (*residency.Report, error) {
	r, err := residency.Look(ctx, t.site, testbed.ClientPod, residency.Request{Paths: append([]string{t.file}, t.backing...), Drop: drop})
	if _, exited := errors.AsType[*testbed.ExitError](err); exited && ctx.Err() == nil {
		return nil, workload.Invalidf(workload.RuleDirect, "Tare cannot check whether the page cache was used: %v", err)
	}
	return r, err
}

// gvisor lists texts in /proc/version by which gVisor is recognized: its name since 2025, and the build time that
// every gVisor kernel reports.
var gvisor = []string{"-gvisor", "Sun Jan 10 15:06:54 PST 2016"}

// errDropped is the error for gVisor, which accepts O_DIRECT and ignores it. After direct=1 in gVisor, the page cache
// of the node's kernel holds the complete file.
var errDropped = errors.New("gVisor accepts O_DIRECT and ignores it: this arm would measure the page cache of its node, while other arms measure the volume; " +
	"write direct: false, so that all arms go through the page cache, under metrics of other names")

// checkDirect is called before a trial with direct I/O. In gVisor, which ignores O_DIRECT, it returns an error for
// direct: true, and lets direct: auto use the page cache.
func (t *trial) checkDirect(ctx context.Context) error {
	var stdout output
	_, err := testbed.Run(ctx, t.site, testbed.ClientPod, testbed.Command{Args: []string{"cat", "/proc/version"}, Stdout: &stdout})
	_, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrNotFound), exited && ctx.Err() == nil:
		return nil // the image lacks cat, so that its kernel stays unknown
	case err != nil:
		return errors.Join(ctx.Err(), err)
	}
	for _, sign := range gvisor {
		if strings.Contains(string(stdout.kept), sign) {
			if t.dropped = true; t.config.Direct == auto {
				return nil
			}
			return errDropped
		}
	}
	return nil
}
