package residency

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mostFiles bounds how many files of a directory are looked at.
const mostFiles = 10_000

// look looks at what is asked for.
func look(_ context.Context, o Order) (*Report, error) {
	r := &Report{Files: []File{}}
	for _, path := range o.Paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist) && name != path:
				return nil // gone meanwhile
			case err != nil:
				return err
			case entry.IsDir() || name != path && !entry.Type().IsRegular():
				return nil
			case len(r.Files) == mostFiles:
				return fmt.Errorf("%s has more than %d files", path, mostFiles)
			}
			f, err := one(name, o.Drop)
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

// one looks at one file or block device.
func one(name string, drop bool) (r File, err error) {
	if err := unix.Access(name, unix.W_OK); err != nil {
		return r, fmt.Errorf("%s: what is cached of a file is told only to who may write to it: %w", name, err)
	}
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, 2) // of a block device, too
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if drop {
		// What is not on the disk yet cannot be dropped.
		if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)); err != nil {
			return r, fmt.Errorf("%s: drop what is cached: %w", name, err)
		}
	}
	r = File{Path: name, Size: size, Method: "cachestat"}
	r.Cached, err = cachestat(f)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) { // seccomp profiles refuse what they do not know
		r.Method = "mincore"
		r.Cached, err = mincore(f, size)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %s: %w", name, r.Method, err)
	}
	return r, nil
}

// cachestat is what is cached of a file, in bytes.
func cachestat(f *os.File) (int64, error) {
	var stat unix.Cachestat_t
	if err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0); err != nil {
		return 0, err
	}
	return int64(stat.Cache) * int64(os.Getpagesize()), nil
}

// window is how much of a file is mapped at a time.
const window = 1 << 30

// mincore is the same by the older way.
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
