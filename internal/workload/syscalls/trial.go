package syscalls

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/workload"
)

// Prepare begins a trial with one slice.
func (c *Config) Prepare(ctx context.Context, t *workload.Trial) (workload.Measured, error) {
	return workload.Uncut(ctx, c, t)
}

// PrepareSlices begins a trial with n slices. The slices share the trial's duration and processes; each slice
// has at least one process.
func (c *Config) PrepareSlices(_ context.Context, t *workload.Trial, n int) (workload.Sliced, error) {
	return &trial{config: c, on: t, slices: n, each: (c.Processes + n - 1) / n}, nil
}

type trial struct {
	config *Config
	on     *workload.Trial
	slices int
	each   int // number of processes in a slice

	used    testbed.Usage
	lines   []line
	raw     bytes.Buffer
	refused bool // the kernel refuses the test, even without layers
}

// Run runs the processes of slice i. Each process is pinned to one CPU, and the next process to the next CPU. All arms
// use the CPUs in the same order.
func (t *trial) Run(ctx context.Context, i int) error {
	if t.refused {
		return nil
	}
	processes := t.slices * t.each
	o := t.config.request()
	o.Mode, o.Processes, o.CPU = modeRun, t.each, (t.on.Round-1)*processes+i*t.each
	o.Amount = max(int(t.config.Duration.Std()/time.Millisecond)/processes, int(leastProcess/time.Millisecond))
	a, err := ask(ctx, t.on.Site, t.config.In, o, true)
	if err != nil {
		return err
	}
	t.raw.Write(a.text)
	t.used = t.used.Plus(a.used)
	if a.failed != nil {
		reason, err := t.config.judge(ctx, t.on.Site, a.failed)
		if t.refused = err == nil && reason == ""; err != nil || t.refused {
			return err
		}
		return errors.Join(workload.Invalidf(workload.RuleExit, "%s", reason), t.keep())
	}
	if len(a.lines) != t.each {
		return errors.Join(workload.Invalidf(workload.RuleParse, "%d of %d processes printed their times", len(a.lines), t.each), t.keep())
	}
	t.lines = append(t.lines, a.lines...)
	return nil
}

// judge returns why a test that failed inside the layers breaks a rule. "": the kernel refuses the test even without
// the layers, so the test is unavailable at this place.
func (c *Config) judge(ctx context.Context, site testbed.Site, inside *line) (reason string, err error) {
	outside, err := ask(ctx, site, c.In, c.try(), false)
	switch {
	case err != nil:
		return "", err
	case outside.failed == nil:
		return inside.failure() + "; without the layers it works there", nil
	case outside.failed.refusal():
		return "", nil
	}
	return outside.failed.failure(), nil
}

func (t *trial) keep() error { return workload.Keep(t.on.Raw, "probe.jsonl", t.raw.Bytes()) }

// Finish returns the means over the trial's processes. A test that the kernel refuses has no values.
func (t *trial) Finish(context.Context) (workload.Result, error) {
	r := workload.Result{Unavailable: metricNames}
	if !t.refused {
		r = t.values()
	}
	r.Used = map[string]testbed.Usage{"probe": t.used}
	return r, t.keep()
}

func (t *trial) values() workload.Result {
	r := workload.Result{Values: map[string]float64{}}
	total, coarse := 0.0, false
	for _, l := range t.lines {
		n := float64(l.Operations)
		r.Values[cpuMetric] += l.CPU / n / float64(len(t.lines)) / nanoseconds
		r.Values[wallMetric] += l.Wall / n / float64(len(t.lines)) / nanoseconds
		total, r.Work = total+l.CPUTotal, r.Work+n*float64(l.Batches)
		coarse = coarse || l.Step > coarsest
	}
	r.Values[meanMetric] = total / r.Work / nanoseconds
	if coarse { // the CPU clock's steps are too long to measure an operation, as in some sandboxes
		r.Unavailable = []string{cpuMetric, meanMetric}
		delete(r.Values, cpuMetric)
		delete(r.Values, meanMetric)
	}
	return r
}

const (
	nanoseconds = 1e9     // nanoseconds in a second
	coarsest    = 100_000 // longest step of a CPU clock, in ns; longer steps are too coarse to time batches
)

// Try does one operation inside the site's layers. Try returns no error if the kernel refuses the operation even
// without the layers.
func (c *Config) Try(ctx context.Context, site testbed.Site) error {
	inside, err := ask(ctx, site, c.In, c.try(), true)
	if err != nil || inside.failed == nil {
		return err
	}
	reason, err := c.judge(ctx, site, inside.failed)
	if err == nil && reason != "" {
		err = errors.New(reason)
	}
	return err
}

type output struct {
	text   []byte
	lines  []line
	failed *line // line of the process that failed
	used   testbed.Usage
}

// ask runs the probe with a request and returns its output. With subject = true, the probe runs inside the site's
// layers, otherwise outside of them.
func ask(ctx context.Context, site testbed.Site, where testbed.Place, o request, subject bool) (a output, err error) {
	cmd, err := helperrpc.Command(site, where, Helper.Name, o)
	if err != nil {
		return a, err
	}
	cmd.Subject = subject
	a.text, a.used, err = helperrpc.Output(ctx, site, where, cmd)
	if ctx.Err() != nil {
		return a, ctx.Err()
	}
	var malformed error
	if a.lines, a.failed, malformed = readLines(a.text); malformed != nil {
		return a, workload.Invalidf(workload.RuleParse, "%v", malformed)
	}
	exit, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case err == nil && a.failed != nil:
		return a, workload.Invalidf(workload.RuleExit, "%s, but the exit status is 0", a.failed.failure())
	case err == nil || a.failed != nil && exited:
		return a, nil
	case exited:
		return a, workload.Invalidf(workload.RuleExit, "%v", exit)
	}
	return a, err
}

// line is the output of one process of the probe; times are in ns per batch.
type line struct {
	Test       Test    `json:"test"`
	Operations uint64  `json:"operations"` // operations in a batch
	Batches    uint64  `json:"batches"`
	CPU        float64 `json:"cpu"` // CPU time of the median batch
	CPUTotal   float64 `json:"cpuTotal"`
	Wall       float64 `json:"wall"`
	WallTotal  float64 `json:"wallTotal"`
	Step       uint64  `json:"step"`         // step of the CPU clock of the process, in ns
	On         *int    `json:"on,omitempty"` // CPU that the process was pinned to

	// The next fields describe a failed system call of the process.
	Failed string  `json:"failed,omitempty"`
	Errno  uint64  `json:"errno,omitempty"`
	Signal int     `json:"signal,omitempty"`
	Result *uint64 `json:"result,omitempty"` // unexpected result of a call without an error
}

// failure describes the failed call: "ptrace: operation not permitted".
func (l line) failure() string {
	switch {
	case l.Signal > 0:
		return fmt.Sprintf("%s: %s was ended by %s", l.Test, l.Failed, signalText(l.Signal))
	case l.Errno > 0:
		return fmt.Sprintf("%s: %s: %s", l.Test, l.Failed, errorText(l.Errno))
	case l.Result != nil:
		return fmt.Sprintf("%s: %s gave %d", l.Test, l.Failed, *l.Result)
	}
	return fmt.Sprintf("%s: %s failed", l.Test, l.Failed)
}

// refusal reports whether the kernel refused the call, or the test shell found no shell to run. Any other failure is a
// mistake in Tare's request.
func (l line) refusal() bool {
	return l.Failed == shell || l.Signal > 0 || slices.Contains(refusals, l.Errno)
}

const shell = "/bin/sh"

// refusals lists the errnos with which Linux refuses a call: EPERM, EACCES, EINVAL, ENOSPC, ENOSYS, EOPNOTSUPP,
// EAFNOSUPPORT. User namespaces return EINVAL and ENOSPC.
var refusals = []uint64{1, 13, 22, 28, 38, 95, 97}

const mostLines = 2 * mostProcesses

// readLines parses the output of the probe, one line for each process. It stops at the first process that failed, and
// returns the line of that process as failed.
func readLines(text []byte) (lines []line, failed *line, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var l line
		if err := decoder.Decode(&l); err != nil {
			return nil, nil, fmt.Errorf("output of the probe: %w", err)
		}
		if l.Failed != "" {
			return lines, &l, nil
		}
		for _, v := range []float64{l.CPU, l.CPUTotal, l.Wall, l.WallTotal} {
			if v < 0 || math.IsInf(v, 0) {
				return nil, nil, fmt.Errorf("output of the probe: %v ns", v)
			}
		}
		if l.Operations == 0 || l.Batches == 0 {
			return nil, nil, errors.New("output of the probe: a process that did nothing")
		}
		if lines = append(lines, l); len(lines) > mostLines {
			return nil, nil, fmt.Errorf("output of the probe: more than %d processes", mostLines)
		}
	}
	return lines, nil, nil
}

// Helper is a process that replaces itself by the probe, which takes the times of operations.
var Helper = testbed.Helper{Name: name, Run: helperrpc.Reading("the request", execute)}

type request struct {
	Mode      string `json:"mode"`
	Test      Test   `json:"test"`
	Amount    int    `json:"amount"` // with modeRun: measured time of each process, in ms; with modeExactly: number of operations
	Processes int    `json:"processes"`
	CPU       int    `json:"cpu"` // chooses the first process's CPU: index into the allowed CPUs, modulo their number
	File      string `json:"file,omitempty"`
	Directory string `json:"directory"`
}

const (
	modeRun     = "run"     // processes measure times
	modeExactly = "exactly" // processes do a fixed number of operations, and measure no times
)

func (c *Config) request() request {
	return request{Test: c.Tests.One(), Processes: 1, File: c.File, Directory: c.Directory}
}

func (c *Config) try() request {
	o := c.request()
	o.Mode, o.Amount = modeExactly, 1
	return o
}

// arguments returns the probe's arguments. One of them is self, the descriptor of the probe's file.
func (o request) arguments(self int) ([]string, error) {
	if o.File == "" {
		var err error
		if o.File, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("no file is given, and the path of this program is not known: %w", err)
		}
	}
	return []string{"probe", o.Mode, string(o.Test), fmt.Sprint(o.Amount), fmt.Sprint(o.Processes), fmt.Sprint(o.CPU), fmt.Sprint(self),
		o.File, o.Directory, "PATH=" + os.Getenv("PATH")}, nil
}
