package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/experiment/quantity"
	"tare/testbed"
	"tare/workload"
	"tare/workload/storage/residency"
)

// Direct says whether I/O goes past the page cache: true, false or auto.
type Direct string

// The choices.
const (
	// PastCache: a trial that went through the page cache is invalid.
	PastCache Direct = "true"
	// ThroughCache: metrics are named buffered-.
	ThroughCache Direct = "false"
	// Auto: the metrics of a trial that went through the page cache are named buffered-.
	Auto Direct = "auto"
)

// Describe says what it accepts.
func (Direct) Describe() string { return "true, false or auto" }

// UnmarshalText parses it.
func (d *Direct) UnmarshalText(text []byte) error {
	switch v := Direct(strings.ToLower(string(text))); v {
	case PastCache, ThroughCache, Auto:
		*d = v
		return nil
	}
	return fmt.Errorf("%q is not %s", text, d.Describe())
}

// MarshalJSON writes a bool where it is one.
func (d Direct) MarshalJSON() ([]byte, error) {
	if d == Auto {
		return json.Marshal(string(d))
	}
	return []byte(d), nil
}

// MarshalText gives the written form.
func (d Direct) MarshalText() ([]byte, error) { return []byte(d), nil }

// tolerated is how much of a file may be in the page cache after a trial that went past it, in
// bytes. All of it would be what somebody else read meanwhile; a trial that goes through the
// page cache leaves more in its first second, but on a device of less than 64 I/Os per second.
const tolerated = 256 << 10

// empty drops what the page cache holds of the file and of what is behind it.
func (t *trial) empty(ctx context.Context) error {
	_, err := t.look(ctx, true)
	return err
}

// cached says whether the trial went through the page cache. If it was not to, that breaks
// a rule.
func (t *trial) cached(ctx context.Context) (bool, error) {
	r, err := t.look(ctx, false)
	if err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return false, err
	}
	if err := workload.Keep(t.raw, "page-cache.json", append(text, '\n')); err != nil {
		return false, err
	}
	most := r.Most()
	if most.Cached <= tolerated && !t.dropped {
		return false, nil
	}
	if t.config.Direct == PastCache {
		return false, workload.Invalidf(workload.RuleDirect, "fio asked for direct I/O, and the page cache was used: after the trial it held %v of %s "+
			"(direct: false measures all arms through the page cache; direct: auto names the metrics of such a trial buffered-)", quantity.Size(most.Cached), most.Path)
	}
	return true, nil
}

// look has the helper look at the file and at what is behind it.
func (t *trial) look(ctx context.Context, drop bool) (*residency.Report, error) {
	r, err := residency.Look(ctx, t.site, testbed.ClientPod, residency.Order{Paths: append([]string{t.file}, t.backing...), Drop: drop})
	var exit *testbed.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return nil, workload.Invalidf(workload.RuleDirect, "whether the page cache is used cannot be seen: %v", err)
	}
	return r, err
}

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
			if t.dropped = true; t.config.Direct == Auto {
				return nil
			}
			return errDropped
		}
	}
	return nil
}
