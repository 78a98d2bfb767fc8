package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/workload"
	"tare/internal/workload/storage/residency"
)

// direct is the parameter direct, which selects I/O past the page cache: true, false or auto.
type direct string

// Values of Direct.
const (
	// pastCache asks for I/O past the page cache; a trial that went through the cache is invalid.
	pastCache direct = "true"
	// throughCache asks for I/O through the page cache; the metrics are named buffered-.
	throughCache direct = "false"
	// auto asks for I/O past the page cache; the metrics of a trial that went through the cache are named buffered-.
	auto direct = "auto"
)

// Describe returns the accepted texts.
func (direct) Describe() string { return "true, false or auto" }

// UnmarshalText parses the parameter.
func (d *direct) UnmarshalText(text []byte) error {
	switch v := direct(strings.ToLower(string(text))); v {
	case pastCache, throughCache, auto:
		*d = v
		return nil
	}
	return fmt.Errorf("%q is not %s", text, d.Describe())
}

// MarshalJSON writes true and false as booleans, and auto as a text.
func (d direct) MarshalJSON() ([]byte, error) {
	if d == auto {
		return json.Marshal(string(d))
	}
	return []byte(d), nil
}

// MarshalText returns the parameter as it is written in a file.
func (d direct) MarshalText() ([]byte, error) { return []byte(d), nil }

// tolerated is the number of bytes of a file that may be in the page cache after a trial past the cache. Another
// process may have read this much in the meantime. A trial through the cache leaves more in its first second, except
// on a device with fewer than 64 I/Os per second.
const tolerated = 256 << 10

// cached reports whether the trial went through the page cache. With direct: true this breaks a rule.
func (t *trial) cached(ctx context.Context) (bool, error) {
	r, err := t.look(ctx, false)
	if err != nil {
		return false, err
	}
	if err := workload.KeepIndented(t.raw, "page-cache.json", r); err != nil {
		return false, err
	}
	most := r.Most()
	if most.Cached <= tolerated && !t.dropped {
		return false, nil
	}
	if t.config.Direct == pastCache {
		return false, workload.Invalidf(workload.RuleDirect, "fio asked for direct I/O, and the page cache was used: after the trial it held %v of %s "+
			"(direct: false measures all arms through the page cache; direct: auto names the metrics of such a trial buffered-)", quantity.Size(most.Cached), most.Path)
	}
	return true, nil
}

// look asks the helper how much of the file, and of the files behind the volume, is in the page cache. With drop, the
// helper first drops these files from the page cache.
func (t *trial) look(ctx context.Context, drop bool) (*residency.Report, error) {
	r, err := residency.Look(ctx, t.site, testbed.ClientPod, residency.Request{Paths: append([]string{t.file}, t.backing...), Drop: drop})
	if _, exited := errors.AsType[*testbed.ExitError](err); exited && ctx.Err() == nil {
		return nil, workload.Invalidf(workload.RuleDirect, "Tare cannot check whether the page cache was used: %v", err)
	}
	return r, err
}

// gvisor lists texts in /proc/version by which gVisor is recognized: its name since 2025, and the build time that
// every gVisor kernel reports.
var gvisor = []string{"-gvisor", "Sun Jan 10 15:06:54 PST 2016"}

// errDropped is the error of a kernel that accepts O_DIRECT and ignores it. gVisor does: after a run with
// direct=1 the whole file is in the page cache of the node's kernel. After the same run without gVisor, no
// part of the file is in the page cache.
var errDropped = errors.New("gVisor accepts O_DIRECT and ignores it: this arm would measure the page cache of its node, while other arms measure the volume; " +
	"write direct: false, so that all arms go through the page cache, under metrics of other names")

// checkDirect returns an error if the kernel of the client's pod is known to ignore O_DIRECT (gVisor) and the
// trial must not go through the page cache.
func (t *trial) checkDirect(ctx context.Context) error {
	var stdout output
	_, err := testbed.Run(ctx, t.site, testbed.ClientPod, testbed.Command{Args: []string{"cat", "/proc/version"}, Stdout: &stdout})
	_, exited := errors.AsType[*testbed.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrNotFound), exited && ctx.Err() == nil:
		return nil // an image without cat does not show its kernel
	case err != nil:
		return errors.Join(ctx.Err(), err)
	}
	for _, sign := range gvisor {
		if strings.Contains(string(stdout.kept), sign) {
			if t.dropped = true; t.config.Direct == auto {
				return nil
			}
			return errDropped
		}
	}
	return nil
}
