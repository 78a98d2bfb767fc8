// Package input opens the files that users name. A FIFO, a device or a socket is refused
// before it is opened: opening may wait for ever, or make a device do something. What a shell
// hands on as an open descriptor, as in `tare validate <(generate)`, is a pipe and is read;
// UntilDone has such a wait end with its context.
package input

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrIrregular is the error of what is no file.
var ErrIrregular = errors.New("not a regular file")

// Open opens a file.
func Open(name string) (*os.File, error) { return open(name, os.Stat, os.OpenFile) }

// OpenIn opens a file below a directory that it does not lead out of.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(name, root.Stat, root.OpenFile)
}

// ReadIn reads such a file.
func ReadIn(root *os.Root, name string) ([]byte, error) {
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

func open(name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, fs.FileMode) (*os.File, error)) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	handedOn := name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
	if kind := info.Mode().Type(); kind&^fs.ModeDir != 0 && !(handedOn && kind == fs.ModeNamedPipe) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a FIFO since
}

// UntilDone reads from what may keep its reader waiting, such as standard input, until the
// context ends, and closes it. The goroutine that waits then is left to the end of the process.
func UntilDone(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, from)
		err = errors.Join(err, from.Close())
		stop()
		_ = in.CloseWithError(err)
	}()
	return out
}
