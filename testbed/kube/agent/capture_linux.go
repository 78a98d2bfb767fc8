package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
)

// capture takes what a program writes to one stream: into a file with its digest, if it
// is wanted. A program that writes too much, or more than the disk takes, is ended by stop.
type capture struct {
	name   string // "stdout", "stderr"
	limit  int64
	stop   func()
	file   *os.File // nil: not kept
	digest hash.Hash
	size   int64
	err    error
}

// newCapture makes one, with a file at path unless that is "".
func newCapture(name, path string, limit int64, stop func()) (*capture, error) {
	c := &capture{name: name, limit: limit, stop: stop, digest: sha256.New()}
	if path == "" {
		return c, nil
	}
	var err error
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, fmt.Errorf("make a file for its %s: %w", name, err)
	}
	return c, nil
}

// Write takes the next part.
func (c *capture) Write(b []byte) (int, error) {
	switch {
	case c.file == nil:
		return len(b), nil
	case c.size+int64(len(b)) > c.limit:
		c.err = fmt.Errorf("it was killed because it wrote more than %d bytes to %s", c.limit, c.name)
	default:
		if _, err := c.file.Write(b); err != nil {
			c.err = fmt.Errorf("it was killed because its %s could not be kept: %w", c.name, err)
		}
	}
	if c.err != nil {
		c.stop()
		return 0, c.err
	}
	c.digest.Write(b)
	c.size += int64(len(b))
	return len(b), nil
}

// output says what was written, when no more is.
func (c *capture) output() output {
	return output{Size: c.size, SHA256: hex.EncodeToString(c.digest.Sum(nil))}
}

// remove forgets what was written.
func (c *capture) remove() {
	if c != nil && c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
	}
}
