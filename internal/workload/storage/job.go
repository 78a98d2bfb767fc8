package storage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
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

type jobResult struct {
	report *fio.Report
	used   testbed.Usage
}

// settle is the longest time that fio may take in addition to its I/O.
const settle = 30 * time.Second

func limit(length time.Duration) time.Duration { return length + settle }

type trial struct {
	config *Config
	site   testbed.Site
	raw    workload.Raw
	file   string // path in the client's pod
	round  int    // number of the round, from 1; 0 if unknown
	checks int    // how often the mark of the layout has been checked so far
	// backing lists the files and directories that hold the volume's data, as far as the testbed knows them.
	backing []string
	// dropped is true if the kernel is known to ignore O_DIRECT: it accepts the flag and uses the page cache.
	dropped bool
}

// arguments returns fio's arguments for a job. Sizes are in bytes, since fio reads MiB as a million bytes. The clock is
// set, since fio may choose the CPU's own clock in some arms only.
func (t *trial) arguments(j job) []string {
	direct := "0"
	if t.config.Direct != throughCache {
		direct = "1"
	}
	args := []string{
		"fio", "--output-format=json+", "--eta=never", "--clocksource=clock_gettime",
		"--name=tare", "--thread", "--group_reporting", "--fallocate=none",
		"--filename=" + strings.ReplaceAll(t.file, ":", `\:`), // fio would take a colon for the end of a file's name
		"--ioengine=" + string(t.config.Engine), "--direct=" + direct,
	}
	if t.config.CPUs != "" {
		args = append(args, "--cpus_allowed="+string(t.config.CPUs))
	}
	return append(args, j.args...)
}

// mostOutput is the largest output that is kept in memory. A longer output makes the trial invalid; fio's reports take
// a few hundred kilobytes.
const mostOutput = 16 << 20

type output struct {
	kept []byte
	over bool
}

// Write keeps the part of p that fits into the limit, and drops the rest.
func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), mostOutput-len(o.kept))
	o.over = o.over || n < len(p)
	o.kept = append(o.kept, p[:n]...)
	return len(p), nil
}

var errTooLong = errors.New("fio took too long")

// run runs fio once, and keeps its outputs as raw files. If fio fails, run returns an error, and fio's report if it
// can be read.
func (t *trial) run(ctx context.Context, j job) (*jobResult, error) {
	limited, cancel := context.WithTimeoutCause(ctx, j.limit, errTooLong)
	defer cancel()
	var stdout, stderr output
	process, err := tool.Start(limited, t.site, testbed.ClientPod, t.arguments(j), &stdout, &stderr)
	if err != nil {
		return nil, err
	}
	used, err := process.Wait()
	unkept := workload.Keep(t.raw, j.name+".json", stdout.kept)
	if len(stderr.kept) > 0 {
		unkept = errors.Join(unkept, workload.Keep(t.raw, j.name+"-stderr.txt", stderr.kept))
	}
	exit, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case unkept != nil:
		return nil, unkept
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && errors.Is(context.Cause(limited), errTooLong):
		return nil, workload.Invalidf(workload.RuleTimeout, "fio (%s) was not done after %v", j.name, j.limit)
	case err != nil && !exited:
		return nil, fmt.Errorf("fio (%s): %w", j.name, err)
	case stdout.over:
		return nil, workload.Invalidf(workload.RuleParse, "fio (%s) wrote more than %d bytes", j.name, mostOutput)
	}
	report, parseErr := fio.Parse(bytes.NewReader(stdout.kept))
	if err != nil {
		said, _, _ := strings.Cut(string(stdout.kept), "{") // fio prints some errors before its report
		text := cmp.Or(said+string(stderr.kept), exit.Stderr)
		return &jobResult{report: report, used: used}, &failure{name: j.name, exit: exit, stderr: text}
	}
	if parseErr != nil {
		return nil, workload.Invalidf(workload.RuleParse, "fio (%s): %v", j.name, parseErr)
	}
	return &jobResult{report: report, used: used}, nil
}

func number[T ~int | ~int64 | ~uint32](n T) string { return strconv.FormatInt(int64(n), 10) }

func (c *Config) begin(on *workload.Trial) (*trial, error) {
	volume, ok := testbed.As[testbed.Volume](on.Site)
	if !ok || volume.Volume() == "" {
		return nil, errors.New("the site has no volume to measure")
	}
	t := &trial{config: c, site: on.Site, raw: on.Raw, round: on.Round, file: volume.Volume()}
	if c.Mode == filesystem {
		t.file = path.Join(t.file, "tare-storage-"+c.Size.String())
	}
	if backed, ok := testbed.As[testbed.BackedVolume](on.Site); ok {
		t.backing = backed.VolumeBacking()
	}
	return t, nil
}

// ramp runs the warm-up. Sequential I/O warms up in the second half of the data: the measurement then begins with
// blocks that were not just read.
func (t *trial) ramp(ctx context.Context) error {
	offset := int64(0)
	if t.config.Operations.One().sequential() && t.config.Jobs.One() == 1 {
		offset = int64(t.config.Size) / 2 / trailer * trailer
	}
	_, err := t.run(ctx, job{name: "ramp", limit: limit(t.config.Ramp.Std()), args: t.load("ramp", t.config.Ramp.Std(), offset)})
	return explain(err)
}

// load returns fio's arguments for the trial's kind of I/O. Each sequential job gets its own part of the data;
// otherwise several jobs would use one block at once.
func (t *trial) load(what string, length time.Duration, offset int64) []string {
	c := t.config
	op, bs, jobs := c.Operations.One(), int64(c.BlockSize.One()), int64(c.Jobs.One())
	size := int64(c.Size) - offset
	args := []string{
		"--rw=" + string(op), "--allow_file_create=0", "--overwrite=1",
		"--bs=" + number(bs), "--iodepth=" + number(c.IODepth.One()), "--numjobs=" + number(jobs),
		fmt.Sprintf("--runtime=%dms", length.Milliseconds()),
		"--randrepeat=0", "--randseed=" + number(t.seed(what)), "--softrandommap=1",
		"--continue_on_error=io", "--percentile_list=50:90:95:99:99.9",
	}
	if !c.cold() {
		args = append(args, "--time_based") // fio begins again at the end of the data, until the time is over
	}
	if op.sequential() && jobs > 1 {
		size = size / jobs / bs * bs
		args = append(args, "--offset_increment="+number(size))
	}
	args = append(args, "--offset="+number(offset), "--size="+number(size))
	if op.reads() {
		args = append(args, "--readonly")
	}
	if c.SyncEvery > 0 {
		args = append(args, "--fsync="+number(c.SyncEvery))
	}
	return args
}

// seed returns the seed of fio's offsets, equal in all arms. It differs by round, cell and part of the trial. fio 3.33
// ignores the lowest bits, so the hash is spread over all bits.
func (t *trial) seed(what string) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d %s %d %d %d", what, t.round, t.config.Operations.One(), t.config.BlockSize.One(), t.config.IODepth.One(), t.config.Jobs.One())
	return h.Sum32() * 2654435769 >> 1 // Fibonacci hashing; a seed of fio has at most 31 bits on every system
}

func (t *trial) measure(ctx context.Context) (workload.Result, error) {
	length := t.config.Duration.Std()
	d, err := t.run(ctx, job{name: "fio", limit: limit(length), args: t.load("measure", length, 0)})
	if err != nil && !counted(d) {
		return workload.Result{}, explain(err)
	}
	buffered := t.config.Direct == throughCache
	if !buffered {
		if buffered, err = t.cached(ctx); err != nil {
			return workload.Result{}, err
		}
	}
	return t.config.read(d, buffered)
}

// counted reports whether a run of fio failed only by I/O errors, which fio counted. The limit on errors decides later
// whether there are too many.
func counted(d *jobResult) bool {
	if d == nil || d.report == nil {
		return false
	}
	job, err := singleJob(d.report)
	if err != nil {
		return false
	}
	failed, known, broken := job.Failures()
	return broken == "" && known && failed > 0
}

// A trailer is written behind the data. Its first block is the mark, a digest of the data's layout. fio itself writes
// it, so that files and block devices need no other program.
//
// A first run of fio writes the data and the trailer. The second run writes the mark inside the existing file. Beyond
// the file's end, fio would make a new file, and reads of this file would cost nothing.
const (
	trailer = 1 << 20 // bytes of the trailer
	block   = 4096    // bytes of the mark; disks require aligned sizes for O_DIRECT
	wide    = 1 << 20 // block size, in bytes, for writing the data
	deep    = 8       // number of blocks that fio writes at the same time while it lays out the data
)

// version is the version of the layout. A new version makes Tare lay out all data again.
const version = 1

// slowest is the lowest bandwidth, in B/s, with which the volume's data can be laid out within the time limit.
const slowest = 8 << 20

func (c *Config) layoutLimit() time.Duration {
	return limit(time.Minute + time.Duration(c.Size/slowest)*time.Second)
}

// mark returns the content of the mark on a volume with its data, in the notation of fio's patterns.
func (c *Config) mark() string {
	return fmt.Sprintf("0x%x", sha256.Sum256(fmt.Appendf(nil, "tare storage, layout %d, %d bytes", version, c.Size)))
}

// layOut writes the data, unless the mark shows that the volume already has the data.
func (t *trial) layOut(ctx context.Context) error {
	laid, err := t.laidOut(ctx)
	if err != nil || laid {
		return err
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	if laid, err = t.laidOut(ctx); err != nil {
		return err
	}
	if !laid {
		return workload.Invalidf(workload.RuleExit, "the volume does not return the data that was written to it: %s", t.file)
	}
	return nil
}

// laidOut reports whether the volume has the mark. It lets fio compare the mark. fio fails if the mark differs, or
// if the file is absent or too short.
func (t *trial) laidOut(ctx context.Context) (bool, error) {
	name := "check"
	if t.checks++; t.checks > 1 {
		name = fmt.Sprintf("check-%d", t.checks)
	}
	_, err := t.run(ctx, job{name: name, limit: limit(0), args: []string{
		"--rw=read", "--readonly", "--allow_file_create=0", "--bs=" + number(block),
		"--offset=" + number(t.config.Size), "--size=" + number(block),
		"--verify=pattern", "--verify_pattern=" + t.config.mark(), "--verify_state_save=0",
	}})
	if _, failed := errors.AsType[*failure](err); failed {
		return false, nil
	}
	return err == nil, err
}

// write writes the data and then the mark. The data is random, so that no storage can compress it or store equal blocks
// once.
func (t *trial) write(ctx context.Context) error {
	whole := t.config.Size + trailer
	d, err := t.run(ctx, job{name: "layout", limit: t.config.layoutLimit(), args: []string{
		"--rw=write", "--bs=" + number(wide), "--iodepth=" + number(deep),
		"--size=" + number(whole), "--refill_buffers=1", "--end_fsync=1",
	}})
	if err != nil {
		return explain(err)
	}
	written, err := singleJob(d.report)
	if err != nil {
		return err
	}
	if written.Error != 0 || written.Write == nil || written.Write.Bytes != float64(whole) {
		return workload.Invalidf(workload.RuleParse, "fio (layout) did not report %v written", whole)
	}
	_, err = t.run(ctx, job{name: "mark", limit: limit(0), args: []string{
		"--rw=write", "--allow_file_create=0", "--bs=" + number(block),
		"--offset=" + number(t.config.Size), "--size=" + number(block),
		"--buffer_pattern=" + t.config.mark(), "--end_fsync=1",
	}})
	return explain(err)
}
