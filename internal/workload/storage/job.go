package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/toolformat/fio"
	"tare/internal/workload"
)

// job is one run of fio. Its report goes to NAME.json, and its standard error to NAME-stderr.txt.
type job struct {
	name  string
	args  []string
	limit time.Duration // longest time that fio may take
}

// jobResult is the result of a job that has ended.
type jobResult struct {
	report *fio.Report
	used   testbed.Usage
}

// settle is the longest time that fio may take besides its I/O.
const settle = 30 * time.Second

func limit(length time.Duration) time.Duration { return length + settle }

type trial struct {
	config *Config
	site   testbed.Site
	raw    workload.Raw
	file   string // path in the client's pod
	round  int    // number of the round, from 1; 0: unknown
	checks int    // number of checks for the mark so far
	// backing lists the files and directories behind the volume that the testbed knows.
	backing []string
	// dropped is set if the kernel is known to accept O_DIRECT and ignore it.
	dropped bool
}

// arguments returns the arguments that all jobs of a trial have. Sizes are in bytes, since fio takes MiB for a
// million bytes. The clock is fixed, since fio could otherwise choose the CPU's clock in one arm only.
func (t *trial) arguments(j job) []string {
	direct := "0"
	if t.config.Direct != throughCache {
		direct = "1"
	}
	return append([]string{
		"fio", "--output-format=json+", "--eta=never", "--clocksource=clock_gettime",
		"--name=tare", "--thread", "--group_reporting", "--fallocate=none",
		"--filename=" + strings.ReplaceAll(t.file, ":", `\:`), // fio separates files by colons
		"--ioengine=" + string(t.config.Engine), "--direct=" + direct,
	}, j.args...)
}

// mostOutput bounds the part of an output that is kept in memory. A report of fio has a few hundred kilobytes at
// most.
const mostOutput = 16 << 20

// output keeps the beginning of a program's output.
type output struct {
	kept []byte
	over bool
}

// Write keeps the part of p that fits.
func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), mostOutput-len(o.kept))
	o.over = o.over || n < len(p)
	o.kept = append(o.kept, p[:n]...)
	return len(p), nil
}

var errTooLong = errors.New("fio took too long")

// run runs fio once. If fio fails and its report can be read, run returns the report with the error.
func (t *trial) run(ctx context.Context, j job) (*jobResult, error) {
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
		text := string(stderr.kept)
		if text == "" {
			text = exit.Stderr
		}
		return &jobResult{report: report, used: used}, &failure{name: j.name, exit: exit, stderr: text}
	}
	if parseErr != nil {
		return nil, workload.Invalidf(workload.RuleParse, "fio (%s): %v", j.name, parseErr)
	}
	return &jobResult{report: report, used: used}, nil
}

// keep writes both outputs to raw files, without an empty standard error.
func (t *trial) keep(name string, stdout, stderr *output) error {
	err := workload.Keep(t.raw, name+".json", stdout.kept)
	if len(stderr.kept) > 0 {
		err = errors.Join(err, workload.Keep(t.raw, name+"-stderr.txt", stderr.kept))
	}
	return err
}

// milliseconds formats a duration for fio.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

func number[T ~int | ~int64 | ~uint32](n T) string { return strconv.FormatInt(int64(n), 10) }
