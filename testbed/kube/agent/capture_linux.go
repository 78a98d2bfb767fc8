package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"
)

// tailSize is how much of a program's standard error an error carries.
const tailSize = 4096

// capture takes what a program writes to one stream: into a file with its
// digest if it is wanted, and the last of it.
type capture struct {
	name   string // "stdout", "stderr"
	limit  int64
	pipe   *os.File // to be read
	file   *os.File // nil: not kept
	digest hash.Hash
	size   int64
	tail   []byte
	err    error
	done   chan struct{}
}

// newCapture makes one, and gives the end that the program writes to. The file
// is made at path unless that is "".
func newCapture(name, path string, limit int64) (*capture, *os.File, error) {
	c := &capture{name: name, limit: limit, digest: sha256.New(), done: make(chan struct{})}
	if path != "" {
		var err error
		if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, nil, fmt.Errorf("make a file for its %s: %w", name, err)
		}
	}
	pipe, writer, err := os.Pipe()
	if err != nil {
		if c.file != nil {
			_ = c.file.Close()
		}
		return nil, nil, fmt.Errorf("make a pipe for its %s: %w", name, err)
	}
	c.pipe = pipe
	return c, writer, nil
}

// run reads until nobody can write any more. A program that writes too much, or
// more than the disk takes, is ended by stop.
func (c *capture) run(stop func()) {
	defer close(c.done)
	defer func() { _ = c.pipe.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := c.pipe.Read(buffer)
		if c.err = c.take(buffer[:n]); c.err != nil {
			stop()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.err = fmt.Errorf("it ended, but something that it started still holds its %s open", c.name)
			return
		case err != nil:
			c.err = fmt.Errorf("read its %s: %w", c.name, err)
			stop()
			return
		}
	}
}

func (c *capture) take(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	c.tail = append(c.tail, b...)
	if cut := len(c.tail) - tailSize; cut > 0 {
		c.tail = append(c.tail[:0], c.tail[cut:]...)
	}
	if c.file == nil {
		return nil
	}
	if c.size+int64(len(b)) > c.limit {
		return fmt.Errorf("it was killed because it wrote more than %d bytes to %s", c.limit, c.name)
	}
	if _, err := c.file.Write(b); err != nil {
		return fmt.Errorf("it was killed because its %s could not be kept: %w", c.name, err)
	}
	c.digest.Write(b)
	c.size += int64(len(b))
	return nil
}

// finish waits for the end, bounded, and gives what was written.
func (c *capture) finish() (output, error) {
	_ = c.pipe.SetReadDeadline(time.Now().Add(outputDelay))
	<-c.done
	return output{Size: c.size, SHA256: hex.EncodeToString(c.digest.Sum(nil))}, c.err
}

// remove forgets what was written.
func (c *capture) remove() {
	if c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
	}
}
