// Package volumes holds the common part of layers for the volume of a site on this machine (luks, fscrypt,
// gocryptfs, fuse-passthrough). Up asks the site for a part of the volume, such as an encrypted device. The
// testbed creates this part with the site. The proof examines the data on the device.
//
// # Proof
//
// When a volume is complete, the testbed writes a marker (a random text) through it. It then searches all
// data that was written to the device for this marker (testbed.VolumeMark). With a layer that encrypts, the
// marker does not appear in clear. In an arm without such a layer, it does. In addition, each layer checks
// before every trial how the kernel describes the volume.
//
// # Baselines
//
// All arms have the same device, file system, options of mkfs and mount options. Only the layer differs. A
// file system outside the kernel has two costs: the way through FUSE, and the cipher. The layer
// fuse-passthrough has only the cost of the way through FUSE.
package volumes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/run/machine"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
)

// Needs are the requirements of a layer that needs a volume of this machine.
var Needs = experiment.Needs{Only: experiment.TestbedLocal, UsesVolume: true}

// Elsewhere tells the user of an alternative on a cluster.
const Elsewhere = "volumes there are encrypted by their storage class: compare classes by the layer storage-class, as examples/kubernetes/encrypted-storage.yaml does"

// Stack returns the volume of a site, to which layers can add parts.
func Stack(site testbed.Site) (testbed.VolumeStack, error) {
	return testbed.Need[testbed.VolumeStack](site, "the site has no volume of this machine in the client's pod: use a workload with a volume, such as storage")
}

// Hidden checks that the marker is not on the device in clear. It is made in Active.Settle.
func Hidden(kind string, stack testbed.VolumeStack) layer.Check {
	m := stack.VolumeMark()
	return layer.Check{Layer: kind, Name: "marker on the device", Expected: "not in clear", Observed: observed(m), OK: m.Found == 0 && m.Scanned > 0, Once: true}
}

// Clear checks that the marker is on the device in clear. It makes no check if a layer encrypts.
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

// Driver makes a check that names the kernel code that encrypts with a cipher. cipher is its name in
// /proc/crypto, such as xts(aes). The check always holds. It has a caveat if the code does not use the
// processor's instructions for encryption.
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

// accelerated reports whether a driver uses the processor's instructions for encryption, or a device. The
// names of all other drivers contain generic, fixed-time or lib; templates around such a driver have its name
// in theirs.
func accelerated(driver string) bool {
	for _, plain := range []string{"generic", "fixed-time", "-lib"} {
		if strings.Contains(driver, plain) {
			return false
		}
	}
	return true
}

// mounted returns the type and the mount point of the innermost file system that holds a directory of the
// volume. It looks as the client's pod does.
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

// Probe returns a probe that tries a layer on a small volume. Before that, it looks for the program that the
// layer needs.
func Probe(name, program, hint string, l layer.Layer) func(context.Context) []testbed.Finding {
	return func(ctx context.Context) []testbed.Finding {
		if _, err := exec.LookPath(program); program != "" && err != nil {
			return []testbed.Finding{{Name: name, Status: testbed.Missing, Detail: program + " is not in the PATH", Hint: hint}}
		}
		_, err := layer.Try(ctx, experiment.Needs{Volume: &experiment.Volume{Size: probeSize}}, l.Up)
		return []testbed.Finding{testbed.Finding{Name: name, Status: testbed.Works}.Tried(err)}
	}
}
