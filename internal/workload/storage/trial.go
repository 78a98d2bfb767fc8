package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"path"
	"time"

	"tare/internal/testbed"
	"tare/internal/workload"
)

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

// ramp warms up. Sequential I/O warms up in the second half of the data, so that the measurement does not begin with
// blocks that were just read.
func (t *trial) ramp(ctx context.Context) error {
	offset := int64(0)
	if t.config.Operations.One().sequential() && t.config.Jobs.One() == 1 {
		offset = int64(t.config.Size) / 2 / trailer * trailer
	}
	_, err := t.run(ctx, job{name: "ramp", limit: limit(t.config.Ramp.Std()), args: t.load("ramp", t.config.Ramp.Std(), offset)})
	return explain(err)
}

// load returns the arguments of a run with the trial's I/O. Each sequential job has its own part of the data; without
// parts, all jobs would read the same blocks at the same time.
func (t *trial) load(what string, length time.Duration, offset int64) []string {
	c := t.config
	op, bs, jobs := c.Operations.One(), int64(c.BlockSize.One()), int64(c.Jobs.One())
	size := int64(c.Size) - offset
	args := []string{
		"--rw=" + string(op), "--allow_file_create=0", "--overwrite=1",
		"--bs=" + number(bs), "--iodepth=" + number(c.IODepth.One()), "--numjobs=" + number(jobs),
		"--runtime=" + milliseconds(length),
		"--randrepeat=0", "--randseed=" + number(t.seed(what)), "--softrandommap=1",
		"--continue_on_error=io", "--percentile_list=50:90:95:99:99.9",
	}
	if !c.cold() {
		args = append(args, "--time_based") // fio starts again from the beginning after it has read all data
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

// seed returns the seed of fio's offsets. It differs between rounds, cells and purposes, and is the same for all
// arms. The hash is spread over all bits, since fio 3.33 ignores the lowest.
func (t *trial) seed(what string) uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d %s %d %d %d", what, t.round, t.config.Operations.One(), t.config.BlockSize.One(), t.config.IODepth.One(), t.config.Jobs.One())
	return h.Sum32() * 2654435769 >> 1 // Fibonacci hashing; fio accepts 31 bits everywhere
}

// measure does the measured run.
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

// counted reports whether a run failed only because of I/O errors that it counted. The limit on errors judges
// these errors.
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
