package storage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/testbed"
	"tare/testbed/bare"
	"tare/workload"
)

const install = "install it with: apt-get install fio"

// probe tries fio in a directory of this machine.
func probe(ctx context.Context) []testbed.Finding {
	f := testbed.Finding{Name: "fio", Status: testbed.Missing, Hint: "apt-get install fio"}
	path, err := exec.LookPath("fio")
	if err != nil {
		f.Detail = "fio is not in the PATH"
		return []testbed.Finding{f}
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		f.Detail = fmt.Sprintf("%s --version: %v", path, err)
		return []testbed.Finding{f}
	}
	version, ok := readVersion(strings.TrimSpace(string(out)))
	if !ok || !enough(version) {
		f.Detail = fmt.Sprintf("%s is version %.40q; %d.%d or later is needed", path, strings.TrimSpace(string(out)), oldest[0], oldest[1])
		return []testbed.Finding{f}
	}
	if err := tryDirectory(ctx); err != nil {
		return []testbed.Finding{{Name: "fio", Status: testbed.Refused, Detail: err.Error()}}
	}
	return []testbed.Finding{{Name: "fio", Status: testbed.Works, Detail: fmt.Sprintf("%s, version %d.%d", path, version[0], version[1])}}
}

// tryDirectory measures a file of this machine for a second. Through the page
// cache, since it is fio that is tried and not the disk.
func tryDirectory(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "tare-fio-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := New().(*Config)
	c.Operations, c.BlockSize, c.IODepth = factor.Of(RandomRead), factor.Of[quantity.Size](4<<10), factor.Of(4)
	c.Size, c.Duration, c.Ramp, c.Direct = leastSize, quantity.Duration(time.Second), 0, false
	measure, err := c.Prepare(ctx, &workload.Trial{Site: directory(dir), Raw: workload.Discard})
	if err != nil {
		return err
	}
	_, err = measure(ctx)
	return err
}

// directory is a site on this machine whose volume is a directory.
type directory string

// Volume is the directory.
func (d directory) Volume() string { return string(d) }

// Start starts a program on this machine.
func (directory) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	return bare.Start(ctx, cmd)
}

var _ testbed.Volume = directory("")
