package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/experiment"
	"tare/experiment/quantity"
	"tare/machine/owned"
	"tare/testbed"
)

// volumeSite is a site with a volume in the client's pod: a loop device on a file, a file
// system on that, in a mount namespace that only the programs of the client's pod see. The
// device reads and writes its file past the page cache. All of it ends with the namespace and
// with this process, however it dies, but for the file, which is in a directory that
// CleanTemporary removes.
type volumeSite struct {
	*network
	*volume
}

var (
	_ testbed.VolumeStack = volumeSite{}
	_ testbed.Staged      = volumeSite{}
)

// volume is the volume of a client's pod.
type volume struct {
	bed   *Testbed
	pod   *thread // of the client's pod, which sees the mounts
	size  quantity.Size
	block bool
	how   experiment.LocalVolume

	dir   string   // holds the file and the mount point; its name says whose it is
	loop  *os.File // the device, held open while nothing is mounted from it
	kept  bool     // the loop device is not mounted itself, and must be held open
	at    string   // mount point of the file system; "" while it is not mounted
	top   string   // what the workload is given
	parts []testbed.VolumePart
	mark  testbed.VolumeMark
}

// openVolume gives the client's pod a mount namespace. The volume itself is made by Ready.
func (n *network) openVolume(want experiment.Volume, how experiment.LocalVolume) (testbed.Site, error) {
	if os.Getenv(UserNamespaceVariable) != "" || os.Geteuid() != 0 {
		return nil, errors.New("a volume of the testbed local is a loop device, which takes root: run tare as root")
	}
	dir, err := owned.Dir("", volumeKind)
	if err != nil {
		return nil, fmt.Errorf("the volume: %w", err)
	}
	pod := n.places[testbed.ClientPod]
	v := &volume{bed: n.bed, pod: pod, size: max(want.Size, how.Size), block: want.Block, how: how, dir: dir}
	n.volume = v
	if err := pod.do(ownMounts); err != nil {
		return nil, err
	}
	return volumeSite{n, v}, nil
}

// ownMounts gives the calling thread a mount namespace: what is mounted there is seen there
// alone. What the machine unmounts is unmounted there as well.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from the machine: %w", err)
	}
	return nil
}

// Volume is what the workload is given: a directory, or a device.
func (v *volume) Volume() string { return v.top }

// InVolume runs f where the mounts of the client's pod are seen.
func (v *volume) InVolume(f func() error) error { return v.pod.do(f) }

// VolumeMark is what became of the marker.
func (v *volume) VolumeMark() testbed.VolumeMark { return v.mark }

// VolumeBacking lists the file of the loop device, and where the parts store what they are given.
func (v *volume) VolumeBacking() []string {
	list := []string{v.image()}
	for _, p := range v.parts {
		if p.Backing != nil {
			list = append(list, p.Backing()...)
		}
	}
	return list
}

func (v *volume) image() string { return filepath.Join(v.dir, "device") }

// AddVolumePart asks for a part.
func (v *volume) AddVolumePart(p testbed.VolumePart) error {
	switch {
	case v.top != "":
		return errors.New("the volume is made already")
	case v.block && p.Directory != nil:
		return fmt.Errorf("%s is about files, and the workload asks for a raw device (mode: block)", p.Name)
	}
	v.parts = append(v.parts, p)
	return nil
}

// Ready makes the volume, from the device upwards, and looks for a marker on the device.
func (v *volume) Ready(ctx context.Context) error {
	if err := v.build(ctx); err != nil {
		return fmt.Errorf("the volume: %w", err)
	}
	if err := v.writeMark(); err != nil {
		return fmt.Errorf("the volume: the marker on it: %w", err)
	}
	return nil
}

func (v *volume) build(ctx context.Context) error {
	loop, device, err := v.attach()
	if err != nil {
		return err
	}
	v.loop = loop
	for _, p := range slices.Backward(v.parts) {
		if p.Device == nil {
			continue
		}
		v.kept = true
		if device, err = p.Device(ctx, device, filepath.Base(v.dir)); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if v.block {
		v.kept, v.top = true, device
		return nil
	}
	if err := v.mount(ctx, device); err != nil {
		return err
	}
	if !v.kept { // the mount alone keeps it from here on, and its end ends it
		_ = v.loop.Close()
		v.loop = nil
	}
	dir := filepath.Join(v.at, "data")
	if err := v.pod.do(func() error { return os.Mkdir(dir, 0o777) }); err != nil {
		return err
	}
	for _, p := range slices.Backward(v.parts) {
		if p.Directory == nil {
			continue
		}
		if dir, err = p.Directory(ctx, dir); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	v.top = dir
	return nil
}

// The options of mkfs, where the file gives none. Tables are written at once, and not by a thread
// of the kernel during trials. The space of the file stays its own: no discards. Small file systems
// get the blocks of large ones. That files may be encrypted (fscrypt) is a flag and changes nothing
// else; all arms have it.
var makeFS = map[string][]string{
	"ext4": {"-F", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-O", "encrypt"},
	"xfs":  {"-f", "-q", "-K"},
}

// mount makes the file system and mounts it.
func (v *volume) mount(ctx context.Context, device string) error {
	kind := v.how.FileSystem
	if kind == "" {
		kind = "ext4"
	}
	options := makeFS[kind]
	if v.how.MakeFS != nil {
		options = v.how.MakeFS
	}
	if err := v.run(ctx, append(append([]string{"mkfs." + kind}, options...), device)...); err != nil {
		return err
	}
	at := filepath.Join(v.dir, "volume")
	if err := os.Mkdir(at, 0o777); err != nil {
		return err
	}
	args := []string{"mount", "-n", "-t", kind}
	if len(v.how.Mount) > 0 {
		args = append(args, "-o", strings.Join(v.how.Mount, ","))
	}
	if err := v.run(ctx, append(args, device, at)...); err != nil {
		return err
	}
	v.at = at
	return nil
}

// run runs a program where the mounts of the client's pod are.
func (v *volume) run(ctx context.Context, args ...string) error {
	var said bytes.Buffer
	p, err := v.bed.start(ctx, v.pod, nil, testbed.Command{Args: args, Stdout: &said, Stderr: &said})
	if err != nil {
		return err
	}
	if _, err := p.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// unmountLimit is how long something that just ends may keep the file system busy.
const unmountLimit = 5 * time.Second

// close takes the volume down. Nothing runs in the pod any more.
func (v *volume) close() error {
	if v == nil {
		return nil
	}
	var errs []error
	if v.at != "" {
		errs = append(errs, v.pod.do(v.unmount))
	}
	if v.loop != nil {
		errs = append(errs, v.loop.Close())
	}
	v.at, v.loop = "", nil
	return errors.Join(append(errs, closeMapping(filepath.Base(v.dir)), owned.Remove(v.dir))...)
}

// unmount unmounts the file system with all that is mounted below it.
func (v *volume) unmount() error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unmountBelow(v.at)
		if err == nil {
			return nil
		}
		if time.Since(begun) > unmountLimit {
			// The namespace ends with the pod, and what still is mounted with it.
			return errors.Join(fmt.Errorf("unmount the volume: %w", err), unix.Unmount(v.at, unix.MNT_DETACH))
		}
	}
}

// unmountBelow unmounts what is mounted at a directory and below, as the calling thread sees it.
func unmountBelow(dir string) error {
	at, err := owned.Mounts(dir)
	if err != nil {
		return err
	}
	for _, one := range slices.Backward(at) {
		if err := unix.Unmount(one, 0); err != nil {
			return fmt.Errorf("%s: %w", one, err)
		}
	}
	return nil
}
