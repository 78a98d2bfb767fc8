package residency

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mostFiles is the largest number of files in a directory that look examines.
const mostFiles = 10_000

func look(_ context.Context, o Request) (*Report, error) {
	r := &Report{Files: []file{}}
	for _, path := range o.Paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name != path:
				return nil // the file was deleted after the directory was listed
			case err != nil:
				return err
			case entry.IsDir() || name != path && !entry.Type().IsRegular():
				return nil
			case len(r.Files) == mostFiles:
				return fmt.Errorf("%s has more than %d files", path, mostFiles)
			}
			f, err := inspect(name, o.Drop)
			if err != nil {
				return err
			}
			r.Files = append(r.Files, f)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func inspect(name string, drop bool) (r file, err error) {
	if err := unix.Access(name, unix.W_OK); err != nil {
		return r, fmt.Errorf("%s: Linux shows the cached part of a file only to users who may write to the file: %w", name, err)
	}
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, 2) // unlike Stat, also finds the size of a block device
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if drop {
		// Linux drops only pages that are on the disk, so the file is synced first.
		if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
			return r, fmt.Errorf("%s: drop the cached part: %w", name, err)
		}
	}
	r = file{Path: name, Size: size, Method: "cachestat"}
	r.Cached, err = cachestat(f)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) { // the system call is missing, or a seccomp profile refuses it
		r.Method = "mincore"
		r.Cached, err = mincore(f, size)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %s: %w", name, r.Method, err)
	}
	return r, nil
}

// cachestat returns the number of bytes of a file in the page cache, by cachestat(2).
func cachestat(f *os.File) (int64, error) {
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		return 0, err
	}
	return int64(stat.Cache) * int64(os.Getpagesize()), nil
}

// window is the size of the part of a file that mincore maps at a time, in bytes.
const window = 1 << 30

// mincore returns the number of bytes of a file in the page cache, by mincore(2).
func mincore(f *os.File, size int64) (int64, error) {
	page := int64(os.Getpagesize())
	cached := int64(0)
	for at := int64(0); at < size; at += window {
		length := min(size-at, window)
		mapped, err := unix.Mmap(int(f.Fd()), at, int(length), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, err
		}
		pages := make([]byte, (length+page-1)/page)
		err = residentPages(mapped, pages)
		if err := errors.Join(err, unix.Munmap(mapped)); err != nil {
			return 0, err
		}
		for _, p := range pages {
			cached += int64(p&1) * page
		}
	}
	return cached, nil
}

// residentPages calls mincore(2), which golang.org/x/sys/unix lacks. The lowest bit of pages[i] is set if page i of the
// mapping is in memory.
func residentPages(mapped, pages []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(len(mapped)), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
