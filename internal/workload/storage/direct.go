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

// direct is the parameter direct: it asks for I/O past the page cache (true), through the cache (false), or past the
// cache if possible (auto).
type direct string

const (
	// pastCache makes a trial invalid whose I/O went through the page cache.
	pastCache direct = "true"
	// throughCache names the metrics buffered-.
	throughCache direct = "false"
	// auto names the metrics buffered- in trials whose I/O went through the page cache.
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

// MarshalText returns the parameter's text in an experiment file.
func (d direct) MarshalText() ([]byte, error) { return []byte(d), nil }

// tolerated is the number of bytes of a file that the page cache may hold after a trial past the cache, since another
// process may have read the file. A trial through the cache leaves more in its first second, except on a device with
// fewer than 64 I/Os per second.
const tolerated = 256 << 10

// cached reports whether the trial's I/O went through the page cache. With direct: true this is an error that breaks
// a rule.
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

// look asks the helper which part of the file, and of the files behind the volume, is in the page cache. With drop,
// the helper first drops these files from the page cache.
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

// checkDirect looks for gVisor, which ignores O_DIRECT. It returns an error unless the trial may go through the page
// cache.
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
