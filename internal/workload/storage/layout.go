package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"tare/internal/workload"
)

// The data is followed by a trailer whose first block is the mark: a digest of the data's layout. fio writes the mark
// when all data is on the disk. Files and block devices are thereby marked in the same way, and the image needs no
// program but fio.
//
// Layout writes data and trailer in one run, and the mark is then written inside the existing file. If fio had to
// write beyond the end of a file, it would silently replace the file, and reads of the new file would cost nothing.
const (
	trailer = 1 << 20 // bytes
	block   = 4096    // bytes of the mark; disks require aligned sizes for O_DIRECT
	wide    = 1 << 20 // block size for writing the data, in bytes
	deep    = 8       // number of blocks of the data under way at a time
)

// version is the version of the layout. A new version makes Tare lay out all data again.
const version = 1

// slowest is the lowest bandwidth at which laying out finishes within its limit, in B/s.
const slowest = 8 << 20

func (c *Config) layoutLimit() time.Duration {
	return limit(time.Minute + time.Duration(c.Size/slowest)*time.Second)
}

// mark returns the content of the mark, in the notation of fio's patterns.
func (c *Config) mark() string {
	return fmt.Sprintf("0x%x", sha256.Sum256(fmt.Appendf(nil, "tare storage, layout %d, %d bytes", version, c.Size)))
}

// layOut writes the data unless the mark shows that the data is there.
func (t *trial) layOut(ctx context.Context) error {
	laid, err := t.laidOut(ctx)
	if err != nil || laid {
		return err
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	if err := t.setMark(ctx); err != nil {
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

// laidOut reports whether the file has the mark. fio fails if the file is absent or too short, or if its mark
// differs.
func (t *trial) laidOut(ctx context.Context) (bool, error) {
	t.checks++
	_, err := t.run(ctx, job{name: numbered("check", t.checks), limit: limit(0), args: []string{
		"--rw=read", "--readonly", "--allow_file_create=0", "--bs=" + number(block),
		"--offset=" + number(t.config.Size), "--size=" + number(block),
		"--verify=pattern", "--verify_pattern=" + t.config.mark(), "--verify_state_save=0",
	}})
	if _, failed := errors.AsType[*failure](err); failed {
		return false, nil
	}
	return err == nil, err
}

// write writes the data. Its content is random and differs from block to block, so that no storage can compress it or
// store equal blocks once.
func (t *trial) write(ctx context.Context) error {
	whole := t.config.Size + trailer
	d, err := t.run(ctx, job{name: "layout", limit: t.config.layoutLimit(), args: []string{
		"--rw=write", "--bs=" + number(wide), "--iodepth=" + number(deep),
		"--size=" + number(whole), "--refill_buffers=1", "--end_fsync=1",
	}})
	if err != nil {
		return explain(err)
	}
	job, err := singleJob(d.report)
	if err != nil {
		return err
	}
	if job.Error != 0 || job.Write == nil || job.Write.Bytes != float64(whole) {
		return workload.Invalidf(workload.RuleParse, "fio (layout) did not report %v written", whole)
	}
	return nil
}

func (t *trial) setMark(ctx context.Context) error {
	_, err := t.run(ctx, job{name: "mark", limit: limit(0), args: []string{
		"--rw=write", "--allow_file_create=0", "--bs=" + number(block),
		"--offset=" + number(t.config.Size), "--size=" + number(block),
		"--buffer_pattern=" + t.config.mark(), "--end_fsync=1",
	}})
	return explain(err)
}

// numbered returns the name of the nth raw file with a common name.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
