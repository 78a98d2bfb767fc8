package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/journal"
)

// What ext4 does when the power fails: it stops at once, and nothing more of its memory, its own
// log included, comes to the disk.
const (
	ext4Shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN
	ext4NoLogFlush = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
)

// disk is a file system of its own, whose power can fail.
type disk struct {
	image, loop, dir string
}

// newDisk makes a disk in a directory.
func newDisk(in string) (*disk, error) {
	d := &disk{image: filepath.Join(in, "disk"), dir: filepath.Join(in, "mounted")}
	if err := errors.Join(os.WriteFile(d.image, nil, 0o600), os.Truncate(d.image, 256<<20), os.MkdirAll(d.dir, 0o755)); err != nil {
		return nil, err
	}
	if _, err := output("mkfs.ext4", "-q", d.image); err != nil {
		return nil, err
	}
	loop, err := output("losetup", "--find", "--show", d.image)
	if err != nil {
		return nil, err
	}
	d.loop = loop
	if err := d.mount(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	return d, nil
}

func (d *disk) mount() error { return unix.Mount(d.loop, d.dir, "ext4", 0, "") }

// fail has the power fail, and come back.
func (d *disk) fail() error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	err = unix.IoctlSetPointerInt(int(f.Fd()), ext4Shutdown, ext4NoLogFlush)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("shut %s down: %w", d.dir, err)
	}
	for range 100 { // who had files open there may still end
		if err = unix.Unmount(d.dir, 0); err == nil {
			return d.mount()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// remove removes the disk.
func (d *disk) remove() error {
	err := unix.Unmount(d.dir, 0)
	if errors.Is(err, unix.EINVAL) { // it is not mounted
		err = nil
	}
	_, detached := output("losetup", "--detach", d.loop)
	return errors.Join(err, detached, os.Remove(d.image))
}

func output(program string, args ...string) (string, error) {
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

const short = `apiVersion: tare/v1alpha1
kind: Experiment
name: short
arms: [{name: plain}, {name: other, layers: [{env: {set: {A: "1"}}}]}]
workloads: [{command: {shell: 'sleep 0.1; echo took 3 ms', metrics: [{name: took, unit: ms, better: lower, regex: 'took ([0-9]+) ms'}]}}]
design: {rounds: 6}
limits: {foreignCPU: none, steal: none, throttling: none}
`

// manyFiles is how many files are imported before the power fails.
const manyFiles = 600

// power cuts the power of a disk right after an import, after a run and during one, and looks at what is
// left of them.
func (c *campaign) power() (err error) {
	d, err := newDisk(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.remove()) }()
	results := filepath.Join(c.dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return err
	}
	for n := range manyFiles {
		text := fmt.Sprintf("arm,round,metric,unit,better,value\n%s,%d,latency,ms,lower,%d\n", []string{"plain", "mtls"}[n%2], n/2+1, 100+n%7)
		if err := os.WriteFile(filepath.Join(results, fmt.Sprintf("%03d.csv", n)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	imported := filepath.Join(d.dir, "deep", "imported")
	if _, err := output(c.tare, "import", "csv", filepath.Join(results, "*.csv"), "--dir", imported, "-q"); err != nil {
		return err
	}
	if err := d.fail(); err != nil {
		return err
	}
	c.survived("import", imported, manyFiles)
	if err := os.WriteFile(filepath.Join(c.dir, "short.yaml"), []byte(short), 0o644); err != nil {
		return err
	}
	done := filepath.Join(d.dir, "runs", "done")
	if _, err := output(c.tare, "run", filepath.Join(c.dir, "short.yaml"), "--dir", done, "-q"); err != nil && exitCode(err) != 5 {
		return err
	}
	if err := d.fail(); err != nil {
		return err
	}
	c.survived("run", done, 18)
	if text, err := os.ReadFile(filepath.Join(done, "report.html")); err != nil || !bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>")) {
		c.fault("power failure after a run: its report has %d bytes, %v", len(text), err)
	}
	return c.during(d)
}

// survived says whether a run is whole and has all its trials.
func (c *campaign) survived(what, dir string, trials int) {
	out, err := output(c.tare, "verify", dir)
	if err != nil || !strings.Contains(out, fmt.Sprintf(": whole: %d trials", trials)) {
		c.fault("power failure after the %s: %v\n%s", what, err, out)
	}
}

// during has the power fail while a run goes on.
func (c *campaign) during(d *disk) error {
	run := filepath.Join(d.dir, "runs", "under-way")
	cmd := exec.Command(c.tare, "run", filepath.Join(c.dir, "short.yaml"), "--dir", run, "-q")
	if err := cmd.Start(); err != nil {
		return err
	}
	var recorded *journal.Run
	for range 600 {
		if r, err := journal.Open(run); err == nil && len(r.Trials) >= 5 {
			recorded = r
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if recorded == nil {
		return errors.Join(fmt.Errorf("no five trials within the time"), cmd.Process.Kill(), cmd.Wait())
	}
	failed := d.fail()
	_ = cmd.Wait() // it cannot write
	if failed != nil {
		return failed
	}
	c.goesOn(scenario{name: "run in which the power fails"}, run, recorded)
	return nil
}
