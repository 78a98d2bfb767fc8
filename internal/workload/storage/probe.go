package storage

import (
	"context"
	"errors"
	"regexp"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
	"tare/internal/workload"
)

var tool = workload.Tool{Name: "fio", Version: regexp.MustCompile(`^fio-(\d{1,6})\.(\d{1,6})`), Oldest: [2]int{3, 33}}

func probe(ctx context.Context) []testbed.Finding {
	return []testbed.Finding{tool.Probe(ctx, tryDirectory)}
}

// tryDirectory runs fio for a second on a file of this machine. It uses the page cache, since the probe tests fio and
// not the disk.
func tryDirectory(ctx context.Context) (err error) {
	dir, err := owned.Dir("", "fio")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, owned.Remove(dir)) }()
	c := New().(*Config)
	c.Operations, c.BlockSize, c.IODepth = factor.Of(randomRead), factor.Of[quantity.Size](4<<10), factor.Of(4)
	c.Size, c.Duration, c.Ramp, c.Direct = leastSize, quantity.Duration(time.Second), 0, throughCache
	measure, err := c.Prepare(ctx, &workload.Trial{Site: directory(dir), Raw: workload.Discard})
	if err != nil {
		return err
	}
	_, err = measure(ctx)
	return err
}

// directory is a site on this machine whose volume is a directory.
type directory string

func (d directory) Volume() string { return string(d) }

// Start starts a program on this machine.
func (directory) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return local.Here.Start(ctx, testbed.Host, cmd)
}

var _ testbed.Volume = directory("")
