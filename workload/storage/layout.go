package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"tare/workload"
)

// The data is followed by a trailer whose first block is the mark: a digest of how
// the data was laid out. It is written when all data is on the disk, by fio as
// well, so that files and block devices are marked alike and nothing but fio is
// asked of the image.
//
// Layout writes data and trailer in one go. The mark is then written inside of what is
// there: fio makes a file that is too short anew, without a word, when it is to
// write behind its end, and then reads of it cost nothing.
const (
	trailer = 1 << 20 // bytes
	block   = 4096    // of the mark; a multiple of what disks ask of O_DIRECT
	wide    = 1 << 20 // blocks in which the data is laid out
	deep    = 8       // and how many of them at a time
)

// version is that of the layout. Another one lays everything out anew.
const version = 1

// slowest is the slowest volume that can be laid out in the time it is given, in B/s.
const slowest = 8 << 20

func (c *Config) layoutLimit() time.Duration {
	return limit(time.Minute + time.Duration(c.Size/slowest)*time.Second)
}

// mark is the contents of the mark, for fio.
func (c *Config) mark() string {
	return fmt.Sprintf("0x%x", sha256.Sum256(fmt.Appendf(nil, "tare storage, layout %d, %d bytes", version, c.Size)))
}

// layOut writes the data, unless that has been done.
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
		return &workload.Invalid{Rule: workload.RuleExit, Detail: "the volume does not give back what was written to it: " + t.file}
	}
	return nil
}

// laidOut looks for the mark. fio fails when it is another one, and when there is
// no file or it ends before.
func (t *trial) laidOut(ctx context.Context) (bool, error) {
	t.checks++
	_, err := t.run(ctx, job{name: numbered("check", t.checks), limit: limit(0), args: []string{
		"--rw=read", "--readonly", "--allow_file_create=0", "--bs=" + number(block),
		"--offset=" + number(t.config.Size), "--size=" + number(block),
		"--verify=pattern", "--verify_pattern=" + t.config.mark(), "--verify_state_save=0",
	}})
	var f *failure
	if errors.As(err, &f) {
		return false, nil
	}
	return err == nil, err
}

// write writes the data. Its contents are random and drawn anew for each block, so
// that no storage can compress them or store them once.
func (t *trial) write(ctx context.Context) error {
	whole := t.config.Size + trailer
	d, err := t.run(ctx, job{name: "layout", limit: t.config.layoutLimit(), args: []string{
		"--rw=write", "--bs=" + number(wide), "--iodepth=" + number(deep),
		"--size=" + number(whole), "--refill_buffers=1", "--end_fsync=1",
	}})
	if err != nil {
		return explain(err)
	}
	job, err := only(d.report)
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
	if err != nil {
		return explain(err)
	}
	return nil
}

// numbered is the name of the nth file of a kind.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, n)
}
