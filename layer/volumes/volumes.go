// Package volumes is what layers for the volume of a site on this machine share (luks, fscrypt,
// gocryptfs, fuse-passthrough): a part of the volume is asked for by Up, made with the site,
// and shown to be there by what is on the device.
//
// # Proof
//
// When all of a volume is made, the testbed writes a marker through it and searches all that was
// written to the device (testbed.VolumeMark). With a layer that encrypts, the marker is not there in
// clear; in an arm that has none, it is. Beside that each layer looks before every trial at what the
// kernel says of the volume.
//
// # Baselines
//
// All arms have the same device, file system, options of mkfs and mount options: what differs
// is the layer. That of a file system outside of the kernel has two parts, the way through
// FUSE and the cipher: fuse-passthrough is the first without the second.
package volumes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"tare/experiment"
	"tare/layer"
	"tare/machine"
	"tare/machine/proc"
	"tare/testbed"
)

// Needs are those of a layer for a volume of this machine.
var Needs = experiment.Needs{Only: experiment.TestbedLocal, UsesVolume: true}

// Elsewhere says what does the like on a cluster.
const Elsewhere = "volumes are encrypted by their storage class there: compare classes by the layer storage-class, as examples/kubernetes/encrypted-storage.yaml does"

// Stack is the volume of a site.
func Stack(site testbed.Site) (testbed.VolumeStack, error) {
	return testbed.Need[testbed.VolumeStack](site, "the site has no volume in the client's pod that is made on this machine: give it a workload that has one, such as storage")
}

// Hidden is the check that the marker is not on the device in clear. It is for Active.Settle.
func Hidden(kind string, stack testbed.VolumeStack) layer.Check {
	m := stack.VolumeMark()
	return layer.Check{Layer: kind, Name: "marker on the device", Expected: "not in clear", Observed: observed(m), OK: m.Found == 0 && m.Scanned > 0, Once: true}
}

// Clear is the check that it is there, where no layer encrypts.
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

// Driver is the check, which always holds, that says which code of the kernel encrypts: that of a
// cipher by its name in /proc/crypto, such as xts(aes). Code without the processor's instructions
// for it is a caveat.
func Driver(kind, cipher string) layer.Check {
	c := layer.Check{Layer: kind, Name: "driver of " + cipher, Expected: "told", Observed: "not told by /proc/crypto", OK: true, Once: true}
	if driver := machine.CipherDrivers(proc.Below("/"))[cipher]; driver != "" {
		c.Observed = driver
		if !accelerated(driver) {
			c.Caveat = fmt.Sprintf("the kernel encrypts by %s, which uses no instructions of the processor for that; with them (AES-NI, or the ARM crypto extensions) it is many times as fast: "+
				"what this layer costs here holds for machines without", driver)
		}
	}
	return c
}

// accelerated says whether a driver is one that uses instructions of the processor or a device: all
// others are called generic, fixed-time or lib, or are templates around one of these.
func accelerated(driver string) bool {
	for _, plain := range []string{"generic", "fixed-time", "-lib"} {
		if strings.Contains(driver, plain) {
			return false
		}
	}
	return true
}

// Mounted is the type of the innermost file system that a directory of the volume is on, as the
// client's pod sees it, and where that is mounted.
func Mounted(stack testbed.VolumeStack, dir string) (kind, at string, err error) {
	err = stack.InVolume(func() error {
		text, err := os.ReadFile("/proc/thread-self/mountinfo")
		kind, at = mountOf(string(text), dir)
		return err
	})
	return kind, at, err
}

// mountOf finds the mount of a directory: proc_pid_mountinfo(5).
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

// probeSize is that of the volume on which a layer is tried.
const probeSize = 64 << 20

// Probe tries a layer on a small volume. A program that it takes is looked for first.
func Probe(name, program, hint string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		if _, err := exec.LookPath(program); program != "" && err != nil {
			return []testbed.Finding{{Name: name, Status: testbed.Missing, Detail: program + " is not in the PATH", Hint: hint}}
		}
		_, err := layer.Try(ctx, experiment.Needs{Volume: &experiment.Volume{Size: probeSize}}, l.Up)
		return []testbed.Finding{testbed.Finding{Name: name, Status: testbed.Works}.Tried(err)}
	}
}
