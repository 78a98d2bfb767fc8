package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/testbed"
	"tare/toolformat/fio"
	"tare/workload"
)

// job is one run of fio. Its report goes to NAME.json, what it says besides to
// NAME-stderr.txt.
type job struct {
	name  string
	args  []string
	limit time.Duration // how long it may take
}

// done is a job that has ended.
type done struct {
	report *fio.Report
	used   testbed.Usage
}

// settle is how long fio may take beyond the time that it does I/O in.
const settle = 30 * time.Second

func limit(length time.Duration) time.Duration { return length + settle }

type trial struct {
	config *Config
	site   testbed.Site
	raw    workload.Raw
	file   string // path in the client's pod
	round  int    // of the trial, from 1; 0: not told
	checks int    // made so far
	// backing are files and directories behind the volume, as far as the testbed knows them.
	backing []string
	// dropped: the system is known to take O_DIRECT and do without.
	dropped bool
}

// arguments are those that all jobs of a trial have. Sizes are plain bytes, since
// fio takes MiB for a million bytes. The clock is fixed, or else fio would choose the
// CPU's where it finds that good enough, which may be so in one arm only.
func (t *trial) arguments(j job) []string {
	direct := "0"
	if t.config.Direct != ThroughCache {
		direct = "1"
	}
	return append([]string{
		"fio", "--output-format=json+", "--eta=never", "--clocksource=clock_gettime",
		"--name=tare", "--thread", "--group_reporting", "--fallocate=none",
		"--filename=" + strings.ReplaceAll(t.file, ":", `\:`), // fio separates files by colons
		"--ioengine=" + string(t.config.Engine), "--direct=" + direct,
	}, j.args...)
}

// mostOutput bounds what is kept of an output in memory: fio's report has a few
// hundred kilobytes at most.
const mostOutput = 16 << 20

// output is the beginning of what a program writes.
type output struct {
	kept []byte
	over bool
}

// Write keeps what there is room for.
func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), mostOutput-len(o.kept))
	o.over = o.over || n < len(p)
	o.kept = append(o.kept, p[:n]...)
	return len(p), nil
}

var errTooLong = errors.New("fio took too long")

// run runs fio once. A run that failed gives what it reported beside the error, if
// that can be read.
func (t *trial) run(ctx context.Context, j job) (*done, error) {
	limited, cancel := context.WithTimeoutCause(ctx, j.limit, errTooLong)
	defer cancel()
	var stdout, stderr output
	process, err := tool.Start(limited, t.site, testbed.ClientPod, t.arguments(j), &stdout, &stderr)
	if err != nil {
		return nil, err
	}
	used, err := process.Wait()
	if keepErr := t.keep(j.name, &stdout, &stderr); keepErr != nil {
		return nil, keepErr
	}
	var exit *testbed.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && errors.Is(context.Cause(limited), errTooLong):
		return nil, workload.Invalidf(workload.RuleTimeout, "fio (%s) was not done after %v", j.name, j.limit)
	case err != nil && !errors.As(err, &exit):
		return nil, fmt.Errorf("fio (%s): %w", j.name, err)
	case stdout.over:
		return nil, workload.Invalidf(workload.RuleParse, "fio (%s) wrote more than %d bytes", j.name, mostOutput)
	}
	report, parseErr := fio.Parse(bytes.NewReader(stdout.kept))
	if err != nil {
		said := string(stderr.kept)
		if said == "" {
			said = exit.Stderr
		}
		return &done{report: report, used: used}, &failure{name: j.name, exit: exit, said: said}
	}
	if parseErr != nil {
		return nil, workload.Invalidf(workload.RuleParse, "fio (%s): %v", j.name, parseErr)
	}
	return &done{report: report, used: used}, nil
}

// keep keeps both outputs as they came; an empty standard error is left out.
func (t *trial) keep(name string, stdout, stderr *output) error {
	err := workload.Keep(t.raw, name+".json", stdout.kept)
	if len(stderr.kept) > 0 {
		err = errors.Join(err, workload.Keep(t.raw, name+"-stderr.txt", stderr.kept))
	}
	return err
}

// milliseconds is a length of time as fio takes it.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

func number[T ~int | ~int64 | ~uint32](n T) string { return strconv.FormatInt(int64(n), 10) }
