package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/experiment"
	"tare/internal/run/machine/owned"
	"tare/internal/test/fit"
	"tare/internal/testbed"
)

const testVolume = 64 << 20

// openVolume opens a site with a volume, which is not made yet.
func openVolume(t *testing.T, block bool, how experiment.LocalVolume) (*Testbed, volumeSite) {
	t.Helper()
	if os.Geteuid() != 0 || os.Getenv(UserNamespaceVariable) != "" {
		t.Skip("needs root, to attach a loop device")
	}
	level := experiment.Testbed{}.Level().(*experiment.Local)
	level.Volume = &how
	bed, site := opened(t, experiment.Needs{Volume: &experiment.Volume{Size: testVolume, Block: block}}, level)
	return bed, site.(volumeSite)
}

// loops lists the loop devices on files of a directory.
func loops(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), dir+"/") {
			list = append(list, f)
		}
	}
	return list
}

// awaitNoLoop waits until there is no loop device. The kernel detaches a loop device a moment after its mount has
// ended.
func awaitNoLoop(t *testing.T, dir string) {
	t.Helper()
	fit.Await(t, "the end of loop devices", func() bool { return loops(t, dir) == nil })
}

// TestVolume makes a volume that is visible only to programs of the client's pod, finds written data on the device,
// and leaves nothing behind.
func TestVolume(t *testing.T) {
	bed, v := openVolume(t, false, experiment.LocalVolume{Size: 2 * testVolume, Mount: []string{"noatime"}})
	must(t, v.Ready(t.Context()))
	if v.mark.Found != markCopies || v.mark.Scanned < 1<<20 || len(v.mark.Encrypted) > 0 {
		t.Errorf("the marker: %+v", v.mark)
	}
	if err := v.AddVolumePart(testbed.VolumePart{}); err == nil || err.Error() != "the volume is made already" {
		t.Errorf("a part of a volume that is made: %v", err)
	}
	// Only the thread of the pod sees the mount; threads of other places and sites do not.
	var here, there unix.Statfs_t
	if err := v.InVolume(func() error { return unix.Statfs(v.Volume(), &there) }); err != nil || there.Type != unix.EXT4_SUPER_MAGIC || there.Flags&unix.ST_NOATIME == 0 {
		t.Errorf("in the pod: %#x, %v", there.Type, err)
	}
	if size := int64(there.Blocks) * there.Bsize; size < testVolume || size > 2*testVolume {
		t.Errorf("the file system has %d bytes", size)
	}
	if err := unix.Statfs(v.Volume(), &here); !errors.Is(err, unix.ENOENT) {
		t.Errorf("outside of the pod: %+v, %v", here, err)
	}
	// Data that a program writes by direct I/O are in no page cache, neither the file's nor the device's.
	p, err := v.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{"dd", "if=/dev/zero", "of=" + v.Volume() + "/x", "bs=1M", "count=8", "oflag=direct", "status=none"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	for _, name := range v.VolumeBacking() {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var stat unix.Cachestat_t
		if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err == nil && stat.Cache != 0 {
			t.Errorf("%d pages of %s are in the page cache", stat.Cache, name)
		}
	}
	dir := v.dir
	if len(loops(t, dir)) != 1 {
		t.Errorf("loop devices: %v", loops(t, dir))
	}
	must(t, bed.Close())
	awaitNoLoop(t, dir)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
}

// TestVolumeParts adds parts below and above the file system. The first requested part is the nearest to the
// workload. A part that does not encrypt leaves the marker in clear.
func TestVolumeParts(t *testing.T) {
	_, v := openVolume(t, false, experiment.LocalVolume{})
	var order []string
	add := func(p testbed.VolumePart) {
		t.Helper()
		must(t, v.AddVolumePart(p))
	}
	directory := func(name string) testbed.VolumePart {
		return testbed.VolumePart{Name: name, Encrypts: true, Directory: func(_ context.Context, dir string) (string, error) {
			order = append(order, name)
			dir = filepath.Join(dir, name)
			return dir, v.InVolume(func() error { return os.Mkdir(dir, 0o755) })
		}}
	}
	add(directory("near"))
	add(directory("far"))
	add(testbed.VolumePart{Name: "below", Device: func(_ context.Context, device, name string) (string, error) {
		order = append(order, "below")
		if o, what, _ := owned.Of(name); what != volumeKind || o != v.bed.owner {
			t.Errorf("name for a mapping: %q", name)
		}
		return device, nil
	}})
	must(t, v.Ready(t.Context()))
	if got := strings.Join(order, " "); got != "below far near" {
		t.Errorf("made in the order %s", got)
	}
	if !strings.HasSuffix(v.Volume(), "/data/far/near") {
		t.Errorf("the workload is given %s", v.Volume())
	}
	if m := v.VolumeMark(); m.Found == 0 || strings.Join(m.Encrypted, " ") != "near far" {
		t.Errorf("the marker: %+v", m)
	}
}

// TestBlockVolume gives the workload a device.
func TestBlockVolume(t *testing.T) {
	bed, v := openVolume(t, true, experiment.LocalVolume{})
	if err := v.AddVolumePart(testbed.VolumePart{Name: "gocryptfs", Directory: func(context.Context, string) (string, error) { return "", nil }}); err == nil ||
		err.Error() != "gocryptfs is about files, and the workload asks for a raw device (mode: block)" {
		t.Error(err)
	}
	must(t, v.Ready(t.Context()))
	if v.mark.Found != markCopies || !strings.HasPrefix(v.Volume(), "/dev/loop") {
		t.Errorf("%s: %+v", v.Volume(), v.mark)
	}
	dir := v.dir
	must(t, bed.Close())
	awaitNoLoop(t, dir)
}

// TestVolumeRefused checks the errors for options that mkfs or mount refuse.
func TestVolumeRefused(t *testing.T) {
	for want, how := range map[string]experiment.LocalVolume{
		"mkfs.ext4": {MakeFS: []string{"-O", "no-such-feature"}},
		"mount -n":  {Mount: []string{"no-such-option"}},
	} {
		bed, v := openVolume(t, false, how)
		if err := v.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "the volume: "+want) || !strings.Contains(err.Error(), "no-such") {
			t.Errorf("%+v: %v", how, err)
		}
		dir := v.dir
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
		awaitNoLoop(t, dir)
	}
}

// TestKilledVolume kills a Tare whose volume is in use, also by background processes. After a clean-up there is no
// mount, no loop device and no file.
func TestKilledVolume(t *testing.T) {
	if os.Geteuid() != 0 || os.Getenv(UserNamespaceVariable) != "" {
		t.Skip("needs root, to attach a loop device")
	}
	cmd, _, v := startVictim(t, "volume")
	if len(loops(t, v.Volume)) != 1 {
		t.Fatalf("loop devices: %v", loops(t, v.Volume))
	}
	commands := hold(t, v.Commands)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	await(t, "command", v.Commands, commands)
	if got := volumesOf(t, cmd.Process.Pid); len(got) != 1 || got[0] != v.Volume {
		t.Errorf("stray volumes: %v", got)
	}
	left := hold(t, v.Left)
	if _, err := Clean(context.Background()); err != nil {
		t.Fatal(err)
	}
	await(t, "stray", v.Left, left)
	awaitNoLoop(t, v.Volume)
	if _, err := CleanTemporary(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(v.Volume); !os.IsNotExist(err) {
		t.Errorf("%s: %v", v.Volume, err)
	}
}
