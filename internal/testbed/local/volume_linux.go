package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
)

// volumeSite is a site with a volume in the client's pod: a file, a loop device on it without the page cache, and a
// file system. Device and file system end with the pod's mount namespace; CleanTemporary removes the file.
type volumeSite struct {
	*network
	*volume
}

var _ interface {
	testbed.VolumeStack
	testbed.Staged
	testbed.Shaper
	testbed.MemberVolumes
	testbed.Scratch
	testbed.Mender
	testbed.Closer
} = volumeSite{}

type volume struct {
	bed   *Testbed
	pod   *thread // thread of the client's pod, which sees the mounts
	size  quantity.Size
	block bool
	how   experiment.LocalVolume

	dir        string   // directory of the file and the mount point; its name contains the owner
	loop       *os.File // open loop device; nil while the mount keeps the device
	holdLoop   bool     // set if no mount keeps the loop device open, so that Tare must hold it open
	mountPoint string   // mount point of the file system; "": not mounted
	path       string   // directory or device for the workload; "": not made yet
	parts      []testbed.VolumePart
	mark       testbed.VolumeMark
}

// openVolume gives the client's pod a mount namespace. Ready makes the volume.
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

// ownMounts gives the calling thread a mount namespace. Unmounts on the machine take effect in this namespace as on the
// machine.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from the machine: %w", err)
	}
	return nil
}

func (v *volume) Volume() string { return v.path }

func (v *volume) InVolume(f func() error) error { return v.pod.do(f) }

func (v *volume) VolumeMark() testbed.VolumeMark { return v.mark }

// VolumeBacking lists the file of the loop device, and the directories in which parts of the volume store data.
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

func (v *volume) AddVolumePart(p testbed.VolumePart) error {
	switch {
	case v.path != "":
		return errors.New("the volume is made already")
	case v.block && p.Directory != nil:
		return fmt.Errorf("%s is about files, and the workload asks for a raw device (mode: block)", p.Name)
	}
	v.parts = append(v.parts, p)
	return nil
}

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
		v.holdLoop = true
		if device, err = p.Device(ctx, device, filepath.Base(v.dir)); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if v.block {
		v.holdLoop, v.path = true, device
		return nil
	}
	if err := v.mount(ctx, device); err != nil {
		return err
	}
	if !v.holdLoop { // the mount now keeps the loop device in use
		_ = v.loop.Close()
		v.loop = nil
	}
	dir := filepath.Join(v.mountPoint, "data")
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
	v.path = dir
	return nil
}

// makeFS holds mkfs's default options: tables are written at once, and the file keeps its disk space. Small file
// systems have the block size of large ones. encrypt is for fscrypt, in all arms.
var makeFS = map[string][]string{
	"ext4": {"-F", "-q", "-b", "4096", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", "-O", "encrypt"},
	"xfs":  {"-f", "-q", "-K"},
}

func (v *volume) mount(ctx context.Context, device string) error {
	kind := cmp.Or(v.how.FileSystem, "ext4")
	options := makeFS[kind]
	if v.how.MakeFS != nil {
		options = v.how.MakeFS
	}
	if err := v.run(ctx, slices.Concat([]string{"mkfs." + kind}, options, []string{device})...); err != nil {
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
	v.mountPoint = at
	return nil
}

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

func (v *volume) close() error {
	if v == nil {
		return nil
	}
	var errs []error
	if v.mountPoint != "" {
		errs = append(errs, v.pod.do(v.unmount))
	}
	if v.loop != nil {
		errs = append(errs, v.loop.Close())
	}
	v.mountPoint, v.loop = "", nil
	return errors.Join(append(errs, closeMapping(filepath.Base(v.dir)), owned.Remove(v.dir))...)
}

func (v *volume) unmount() error {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := unmountBelow(v.mountPoint)
		if err == nil {
			return nil
		}
		if time.Since(begun) > 5*time.Second {
			// The remaining mounts end with the pod's mount namespace.
			return errors.Join(fmt.Errorf("unmount the volume: %w", err), unix.Unmount(v.mountPoint, unix.MNT_DETACH))
		}
	}
}

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

// volumeKind is the kind of temporary directories (owned.Dir) for volumes and for Scratch.
const volumeKind = "volume"

func (n *network) MemberVolume(i int) string {
	if i < 1 || i > len(n.volumes) {
		return ""
	}
	return n.volumes[i-1]
}

func (n *network) makeVolumes() error {
	for range n.Members() {
		dir, err := owned.Dir("", volumeKind)
		if err != nil {
			return fmt.Errorf("the volume of a member: %w", err)
		}
		n.volumes = append(n.volumes, dir)
	}
	return nil
}

// Scratch makes a directory in TMPDIR, whose name contains the owner, so that tare clean can find it.
func (s *site) Scratch() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scratch != "" {
		return s.scratch, nil
	}
	dir, err := owned.Dir("", volumeKind)
	if err != nil {
		return "", fmt.Errorf("a directory for programs under test: %w", err)
	}
	s.scratch = dir
	return dir, os.Chmod(dir, 0o755)
}

// CleanTemporary removes what this user's ended Tare processes left in TMPDIR and dirs. It must run after Clean, so
// that none still writes there.
func CleanTemporary(dirs ...string) (removed []string, err error) {
	return owned.Clean(dirs, func(path string) error { return closeMapping(filepath.Base(path)) })
}
