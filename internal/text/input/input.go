// Package input opens files that users name. It refuses a FIFO, a device or a socket before opening it: opening may
// block for ever or trigger a device. It accepts a pipe that a shell passes as an open descriptor, as in `tare
// validate <(generate)`. UntilDone makes the end of a context end the reading of a pipe.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrIrregular is the error for a FIFO, a device or a socket.
var ErrIrregular = errors.New("not a regular file")

// Open opens a file.
func Open(name string) (*os.File, error) { return open(name, os.Stat, os.OpenFile) }

// OpenIn opens a file below a directory. The name cannot lead out of the directory.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(name, root.Stat, root.OpenFile)
}

// ReadIn reads a file below a directory.
func ReadIn(root *os.Root, name string) ([]byte, error) {
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// ReadAtMost reads a file. A file whose number of bytes exceeds the argument most is an error.
func ReadAtMost(name string, most int) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s has more than %d KiB", name, most>>10)
	}
	return data, err
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
	return openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // with O_NONBLOCK, opening does not wait if a FIFO has replaced the file
}

// UntilDone returns a reader that fails when the context ends, even if the source blocks, as standard input may. The
// source is closed after its last read. A goroutine that the source blocks stays until the process ends.
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
