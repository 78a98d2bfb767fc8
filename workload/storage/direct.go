package storage

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"tare/testbed"
)

// gvisor are what the kernel's version says inside gVisor: by default since 2025, and
// the time at which all of its kernels claim to have been built.
var gvisor = []string{"-gvisor", "Sun Jan 10 15:06:54 PST 2016"}

// errDropped is about a system that takes O_DIRECT and does without. Seen with
// gVisor: after a run with direct=1 the whole file is in the page cache of the
// node's kernel, and of the same run without gVisor nothing is.
var errDropped = errors.New("gVisor takes O_DIRECT and drops it: this arm would measure the page cache of its node, where others measure the volume; " +
	"write direct: false, which has all arms go through the page cache, under metrics of other names")

// past says whether O_DIRECT leads past the page cache, as far as that is known
// of the system that the volume is seen from.
func (t *trial) past(ctx context.Context) error {
	var stdout output
	process, err := t.site.Start(ctx, testbed.ClientPod, testbed.Command{Args: []string{"cat", "/proc/version"}, Stdout: &stdout})
	if errors.Is(err, exec.ErrNotFound) {
		return nil // an image of nothing but fio tells nothing
	}
	if err != nil {
		return err
	}
	if _, err := process.Wait(); err != nil {
		var exit *testbed.ExitError
		if errors.As(err, &exit) && ctx.Err() == nil {
			return nil
		}
		return errors.Join(ctx.Err(), err)
	}
	for _, sign := range gvisor {
		if strings.Contains(string(stdout.kept), sign) {
			return errDropped
		}
	}
	return nil
}
