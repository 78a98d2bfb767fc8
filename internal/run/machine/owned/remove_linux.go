package owned

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// RemoveIn removes a file or directory tree in dir, and first unmounts mounts below it. It follows no link and enters
// no other file system. The error names the entries that remain. A missing name is no error.
func RemoveIn(dir *os.File, name string) error {
	in, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", dir.Fd())) // the path of dir in the form that the list of mounts has
	if err != nil {
		return err
	}
	path := filepath.Join(in, name)
	r := &remover{unmountErrors: unmount(path)}
	if r.mount, err = mountOf(dir); err != nil {
		return err
	}
	if r.remove(dir, name, path); r.errs == nil {
		return nil
	}
	return fmt.Errorf("left %s: %w", path, errors.Join(r.errs...))
}

// remover removes directory trees, but only what lies on one mount.
type remover struct {
	mount         string           // id of the mount
	unmountErrors map[string]error // errors of failed unmounts, by path
	errs          []error
}

// mostNamed is the maximum number of remaining files that an error names.
const mostNamed = 10

func (r *remover) leave(path string, err error) {
	switch {
	case len(r.errs) < mostNamed:
		r.errs = append(r.errs, fmt.Errorf("%s: %w", path, err))
	case len(r.errs) == mostNamed:
		r.errs = append(r.errs, errors.New("and more"))
	}
}

// remove removes one entry of a directory. It uses open directories, since a running program could redirect a path by a
// link or a mount.
func (r *remover) remove(in *os.File, name, path string) {
	err := unix.Unlinkat(int(in.Fd()), name, 0)
	if err == nil || err == unix.ENOENT {
		return
	}
	fd, opened := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case opened == unix.ENOENT: // another process has removed the entry
		return
	case opened == unix.ENOTDIR, opened == unix.ELOOP: // the entry is no directory
		r.leave(path, err)
		return
	case opened != nil:
		r.leave(path, opened)
		return
	}
	dir := os.NewFile(uintptr(fd), path)
	defer func() { _ = dir.Close() }()
	switch mount, err := mountOf(dir); {
	case err != nil:
		r.leave(path, err)
		return
	case mount != r.mount:
		r.leave(path, errors.Join(errors.New("another file system is mounted there"), r.unmountErrors[path]))
		return
	}
	before := len(r.errs)
	names, err := dir.Readdirnames(-1)
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	for _, each := range names {
		r.remove(dir, each, filepath.Join(path, each))
	}
	if err == nil {
		err = unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR)
	}
	if err != nil && err != unix.ENOENT && len(r.errs) == before {
		r.leave(path, err)
	}
}

// mountOf returns the id of the mount of an open file. Two mounts of one file system have different ids.
func mountOf(f *os.File) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", errors.New("the system does not report its mount")
}

// unmount unmounts all mounts at a path and below it, the latest first. The result maps each path to its error.
func unmount(path string) map[string]error {
	mounts, err := Mounts(path)
	busy := map[string]error{path: err}
	for _, at := range slices.Backward(mounts) {
		// A busy mount disappears when its last user ends (MNT_DETACH).
		busy[at] = unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	return busy
}

// Mounts lists the mounts at a path and below it, in the order of mounting, as this thread sees them. The path must not
// contain links.
func Mounts(path string) (at []string, err error) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if where := mountEscapes.Replace(fields[4]); where == path || strings.HasPrefix(where, path+"/") {
			at = append(at, where)
		}
	}
	return at, nil
}

// mountEscapes decodes the escapes of /proc/PID/mountinfo.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
