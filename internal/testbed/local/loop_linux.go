package local

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/testbed"
)

// attach makes the volume's file and a loop device on it. It returns the open device and its path. The kernel removes
// the device once it is unused.
func (v *volume) attach() (*os.File, string, error) {
	image, err := os.OpenFile(v.image(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = image.Close() }()
	err = unix.Fallocate(int(image.Fd()), 0, 0, int64(v.size))
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = image.Truncate(int64(v.size))
	}
	if errors.Is(err, unix.ENOSPC) {
		return nil, "", fmt.Errorf("%s has no room for %v: set TMPDIR to a directory that has", filepath.Dir(v.dir), v.size)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", v.image(), err)
	}
	loop, path, err := attachLoop(image, v.dir)
	if err != nil {
		return nil, "", fmt.Errorf("loop device: %w", err)
	}
	status, err := unix.IoctlLoopGetStatus64(int(loop.Fd()))
	if err == nil && status.Flags&unix.LO_FLAGS_DIRECT_IO == 0 {
		err = fmt.Errorf("the file system of %s does not support direct I/O, and the page cache would hide the device: set TMPDIR to a directory on another file system", v.dir)
	}
	if err != nil {
		_ = loop.Close()
		return nil, "", err
	}
	return loop, path, nil
}

// attachLoop makes a loop device on a file. If /dev has no node for the device, attachLoop makes a node in dir.
func attachLoop(image *os.File, dir string) (*os.File, string, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, "", fmt.Errorf("%w (modprobe loop)", err)
	}
	defer func() { _ = control.Close() }()
	for range 16 { // tries again, since another program may take the free device first
		var n int
		if n, err = unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE); err != nil {
			return nil, "", err
		}
		path := fmt.Sprintf("/dev/loop%d", n)
		if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
			path = filepath.Join(dir, fmt.Sprintf("loop%d", n))
			if err := unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(7, uint32(n)))); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, "", fmt.Errorf("make a node of the device: %w", err)
			}
		}
		var loop *os.File
		if loop, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return nil, "", err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{
			Fd: uint32(image.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_DIRECT_IO | unix.LO_FLAGS_AUTOCLEAR},
		})
		if err == nil {
			return loop, path, nil
		}
		_ = loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, "", err
		}
	}
	return nil, "", err
}

// closeMapping removes the device mappings of this name. It also removes their nodes, which would stay without udev.
func closeMapping(name string) error {
	for _, each := range mappings(name) {
		out, err := exec.Command("dmsetup", "remove", "--retry", each).CombinedOutput()
		if err != nil && slices.Contains(mappings(name), each) {
			return fmt.Errorf("dmsetup remove %s: %w: %s", each, err, bytes.TrimSpace(out))
		}
	}
	nodes, err := filepath.Glob("/dev/mapper/" + name + "_*")
	for _, node := range append(nodes, "/dev/mapper/"+name) {
		if gone := os.Remove(node); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// mappings lists the kernel's device mappings of a volume. A mapping has the volume's name, or this name with an
// underscore and a suffix.
func mappings(name string) (list []string) {
	files, _ := filepath.Glob("/sys/block/dm-*/dm/name")
	for _, file := range files {
		text, _ := os.ReadFile(file) // if the file cannot be read, its mapping has just ended
		if one := strings.TrimSpace(string(text)); one == name || strings.HasPrefix(one, name+"_") {
			list = append(list, one)
		}
	}
	slices.Sort(list)
	return list
}

const (
	markCopies = 1024    // number of times the marker is written
	scanChunk  = 1 << 20 // bytes read at a time
	alignment  = 4096    // alignment of addresses and lengths for direct I/O
)

// writeMark writes a marker into the volume, through every layer of its storage. It then counts how often the device's
// file contains the marker.
func (v *volume) writeMark() error {
	var drawn [16]byte
	_, _ = rand.Read(drawn[:])
	line := []byte("tare marker " + hex.EncodeToString(drawn[:]) + "\n")
	text := bytes.Repeat(line, markCopies)
	text = append(text, make([]byte, alignment-len(text)%alignment)...) // a device can only be written in whole blocks
	name, flags := v.path, os.O_WRONLY
	if !v.block {
		name, flags = filepath.Join(v.path, "tare-marker"), os.O_WRONLY|os.O_CREATE|os.O_EXCL
	}
	err := v.pod.do(func() error {
		f, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Sync(), f.Close())
	})
	if err != nil {
		return err
	}
	v.mark = testbed.VolumeMark{}
	for _, p := range v.parts {
		if p.Encrypts {
			v.mark.Encrypted = append(v.mark.Encrypted, p.Name)
		}
	}
	if v.mark.Found, v.mark.Scanned, err = scan(v.image(), line); err != nil || v.block {
		return err
	}
	return v.pod.do(func() error { return os.Remove(name) })
}

// scan counts how often a pattern stands in a file. It reads from the disk, not from the page cache, and skips the
// file's holes.
func scan(file string, pattern []byte) (found int, scanned int64, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	// The buffer's first page keeps the end of the piece of the file that was read last. The next piece is read behind
	// this page.
	buffer, err := unix.Mmap(-1, 0, alignment+scanChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Munmap(buffer) }()
	for at := int64(0); ; {
		begin, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return found, scanned, nil
		}
		end, err2 := unix.Seek(int(f.Fd()), begin, unix.SEEK_HOLE)
		if err := cmp.Or(err, err2); err != nil {
			return found, scanned, err
		}
		tail := 0 // number of bytes kept from the end of the previous piece of the file
		for at = begin / alignment * alignment; at < end; {
			n, err := unix.Pread(int(f.Fd()), buffer[alignment:], at)
			if err != nil || n == 0 {
				return found, scanned, err
			}
			found += bytes.Count(buffer[alignment-tail:alignment+n], pattern)
			tail = min(len(pattern)-1, n)
			copy(buffer[alignment-tail:alignment], buffer[alignment+n-tail:alignment+n])
			at, scanned = at+int64(n), scanned+int64(n)
		}
	}
}
