// Package input opens files that users name. It refuses FIFOs, devices and sockets: opening one may block for ever or
// make a device act. Open pipes of a shell are allowed, as in `tare validate <(generate)`. UntilDone ends the reading
// of a pipe with a context.
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

// OpenIn opens a file below a directory. A name or link that leads out of the directory is an error.
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

// ReadAtMost reads a file of at most the given number of bytes. A larger file is an error.
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
	return openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: if a FIFO has replaced the file since Stat, opening does not wait
}

// UntilDone returns a reader that fails when the context ends, even while reading the source blocks. The source is
// closed after its last read. A read that never returns keeps its goroutine.
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
