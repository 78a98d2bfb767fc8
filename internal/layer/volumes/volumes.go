// Package volumes holds the common part of layers for the volume of a site on this machine (luks, fscrypt, gocryptfs,
// fuse-passthrough). Up asks the site for a part of the volume, such as an encrypted device. The testbed creates this
// part with the site.
//
// When a volume is complete, the testbed writes a marker (a random text) through it, and searches the device's data for
// the marker (testbed.VolumeMark). With a layer that encrypts, the marker must not be there in clear. In an arm without
// such a layer, it must be there in clear. Each layer also checks before every trial how the kernel describes the
// volume.
//
// All arms have the same device, file system and options: only the layer differs. A file system outside the kernel has
// two costs, the way through FUSE and the cipher. The layer fuse-passthrough has only the cost of FUSE.
package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
	"tare/internal/text/safetext"
)

// Needs are the requirements of a layer that needs a volume of this machine.
var Needs = experiment.Needs{Only: experiment.TestbedLocal, UsesVolume: true}

// Elsewhere is a hint for users on clusters: how to compare encrypted volumes there.
const Elsewhere = "volumes there are encrypted by their storage class: compare classes by the layer storage-class, as examples/kubernetes/encrypted-storage.yaml does"

// Stack returns the volume of a site, to which layers can add parts.
func Stack(site testbed.Site) (testbed.VolumeStack, error) {
	return testbed.Need[testbed.VolumeStack](site, "the site has no volume of this machine in the client's pod: use a workload with a volume, such as storage")
}

// Hidden checks that the marker is not on the device in clear. The check is made once per set-up, in Active.Settle.
func Hidden(kind string, stack testbed.VolumeStack) layer.Check {
	m := stack.VolumeMark()
	return layer.Check{Layer: kind, Name: "marker on the device", Expected: "not in clear", Observed: observed(m), OK: m.Found == 0 && m.Scanned > 0, Once: true}
}

// Clear checks that the marker can be read in clear on the volume's device. If a layer of the site encrypts, Clear
// makes no check.
func Clear(kind string, stack testbed.VolumeStack) []layer.Check {
	m := stack.VolumeMark()
	if len(m.Encrypted) > 0 {
		return nil
	}
	return []layer.Check{{Layer: kind, Name: "marker on the device", Expected: "in clear", Observed: observed(m), OK: m.Found > 0, Once: true}}
}

func observed(m testbed.VolumeMark) string {
	mib := float64(m.Scanned) / (1 << 20)
	if m.Found == 0 {
		return fmt.Sprintf("not in the %.1f MiB that were written", mib)
	}
	return fmt.Sprintf("%d times in the %.1f MiB that were written", m.Found, mib)
}

// Driver returns a check that always passes and names the kernel's driver of a cipher, such as xts(aes) in
// /proc/crypto. A driver that is not accelerated adds a caveat.
func Driver(kind, cipher string) layer.Check {
	c := layer.Check{Layer: kind, Name: "driver of " + cipher, Expected: "known", Observed: "not in /proc/crypto", OK: true, Once: true}
	if driver := machine.CipherDrivers(proc.Below("/"))[cipher]; driver != "" {
		c.Observed = driver
		if !accelerated(driver) {
			c.Caveat = fmt.Sprintf("the kernel encrypts with %s, which does not use the processor's instructions for encryption (AES-NI, or the ARM crypto extensions) and is many times slower than with them: "+
				"the measured overhead holds for machines without these instructions", driver)
		}
	}
	return c
}

// accelerated reports whether a driver uses the processor's instructions for encryption, or a device. Plain drivers
// have names with generic, fixed-time or -lib.
func accelerated(driver string) bool {
	return !slices.ContainsFunc([]string{"generic", "fixed-time", "-lib"}, func(plain string) bool { return strings.Contains(driver, plain) })
}

// mounted returns type and mount point of the innermost file system around a directory of the client's pod.
func mounted(stack testbed.VolumeStack, dir string) (kind, at string, err error) {
	err = stack.InVolume(func() error {
		text, err := os.ReadFile("/proc/thread-self/mountinfo")
		kind, at = mountOf(string(text), dir)
		return err
	})
	return kind, at, err
}

// mountOf finds the mount of a directory in the text of mountinfo (proc_pid_mountinfo(5)).
func mountOf(mountinfo, dir string) (kind, at string) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 1 {
			continue
		}
		point := strings.TrimSuffix(f[4], "/")
		if (dir == point || strings.HasPrefix(dir, point+"/")) && len(point) >= len(at) {
			kind, at = g[0], point
		}
	}
	return kind, at
}

const probeSize = 64 << 20 // the size in bytes of the volume on which a probe tries a layer

// Probe returns a probe that looks for a program, and then tries the layer on a small volume.
func Probe(name, program, hint string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		if _, err := exec.LookPath(program); program != "" && err != nil {
			return []testbed.Finding{{Name: name, Status: testbed.Missing, Detail: program + " is not in the PATH", Hint: hint}}
		}
		_, err := layer.Try(ctx, experiment.Needs{Volume: &experiment.Volume{Size: probeSize}}, l.Up)
		return []testbed.Finding{testbed.Finding{Name: name, Status: testbed.Works}.Tried(err)}
	}
}

// Daemon is the process of a file system outside the kernel (FUSE), in the client's pod. The mount is visible only in
// that pod, and ends with the process.
type Daemon struct {
	Kind     string // kind of the layer
	Encrypts bool
	// Files is the name of the directory for the daemon's files, and Mode the mode of this directory. Through is the
	// name of the directory in which programs see the files.
	Files, Through string
	Mode           os.FileMode
	// Command returns the command that starts the daemon in the foreground.
	Command func(ctx context.Context, files, through string) (testbed.Command, error)
	// Settle makes those checks that need to be made only once per set-up. Every layer must have Settle.
	Settle func(testbed.VolumeStack) []layer.Check

	site    testbed.Site
	stack   testbed.VolumeStack
	files   string // path of the directory Files
	at      string // mount point
	process testbed.Process
	ended   chan struct{}
	how     error // error with which the daemon ended
	said    process.Tail
}

const mountLimit = 20 * time.Second // timeout for the mount to appear

// Up adds the daemon's file system to the volume of the site.
func (d *Daemon) Up(s *layer.Session) (_ *layer.Active, err error) {
	d.site = s.Site
	if d.stack, err = Stack(s.Site); err != nil {
		return nil, err
	}
	part := testbed.VolumePart{Name: d.Kind, Encrypts: d.Encrypts, Directory: d.put, Backing: func() []string { return []string{d.files} }}
	if err := d.stack.AddVolumePart(part); err != nil {
		return nil, err
	}
	costs := func() ([]layer.Cost, error) {
		cost, err := layer.CostOf("daemon", d.process)
		return []layer.Cost{cost}, err
	}
	settle := func(context.Context) ([]layer.Check, error) { return d.Settle(d.stack), nil }
	return &layer.Active{Settle: settle, Before: d.before, Costs: costs, Down: d.down}, nil
}

// put creates two directories below dir, Files and Through, and mounts the daemon's file system.
func (d *Daemon) put(ctx context.Context, dir string) (string, error) {
	files, through := filepath.Join(dir, d.Files), filepath.Join(dir, d.Through)
	err := d.stack.InVolume(func() error {
		if err := os.Mkdir(files, d.Mode); err != nil {
			return err
		}
		return os.Mkdir(through, 0o777)
	})
	if err != nil {
		return "", err
	}
	cmd, err := d.Command(ctx, files, through)
	if err != nil {
		return "", err
	}
	d.files, d.at, d.ended = files, through, make(chan struct{})
	cmd.Stdout, cmd.Stderr = &d.said, &d.said
	if d.process, err = d.site.Start(context.WithoutCancel(ctx), testbed.ClientPod, cmd); err != nil {
		return "", err
	}
	go func(process testbed.Process) {
		_, d.how = process.Wait()
		close(d.ended)
	}(d.process)
	limited, cancel := context.WithTimeout(ctx, mountLimit)
	defer cancel()
	for {
		kind, where, err := mounted(d.stack, through)
		if err != nil || where == through && strings.HasPrefix(kind, "fuse") {
			return through, err
		}
		select {
		case <-d.ended:
			return "", fmt.Errorf("%s has ended: %w: %s", cmd.Args[0], errors.Join(d.how, errors.New("nothing is mounted")), d.last())
		case <-limited.Done():
			return "", errors.Join(fmt.Errorf("%s has mounted nothing after %v: %s", cmd.Args[0], mountLimit, d.last()), d.down(context.WithoutCancel(ctx)))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (d *Daemon) last() string { return safetext.Tail(d.said.String(), 400) }

func (d *Daemon) before(context.Context, testbed.Site) ([]layer.Check, error) {
	c := layer.Check{Layer: d.Kind, Name: "file system of the volume", Expected: "FUSE, and its process runs"}
	kind, where, err := mounted(d.stack, d.at)
	c.Observed = kind + ", and its process runs"
	select {
	case <-d.ended:
		c.Observed = fmt.Sprintf("%s, and its process has ended", kind)
	default:
		c.OK = where == d.at && strings.HasPrefix(kind, "fuse")
	}
	if where != d.at {
		c.Observed = "its file system is not mounted"
	}
	return []layer.Check{c}, err
}

// down ends the daemon. The mount ends with it.
func (d *Daemon) down(context.Context) error {
	if d.process == nil {
		return nil
	}
	err := d.stack.InVolume(func() error { return detach(d.at) })
	err = errors.Join(err, d.process.Kill())
	<-d.ended
	if err == nil {
		d.process = nil
	}
	return err
}

// Absent checks that the volume is not a mount of the program.
func Absent(kind, program string, stack testbed.VolumeStack) ([]layer.Check, error) {
	is, _, err := mounted(stack, stack.Volume())
	c := layer.Check{Layer: kind, Name: "file system of the volume", Expected: "not of " + program, Observed: is, OK: is != "" && !strings.HasSuffix(is, program)}
	return []layer.Check{c}, err
}
