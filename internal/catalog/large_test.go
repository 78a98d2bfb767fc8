package catalog_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"tare/internal/catalog"
	"tare/internal/importer"
)

// counted counts the bytes that are read from it.
type counted struct {
	io.Reader
	bytes int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.bytes += int64(n)
	return n, err
}

// blanks is an endless text of empty lines.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("   \n"), len(p)/4+1)), nil
}

// TestLargeFile checks that every format refuses a file whose known size is too large before it reads the file.
func TestLargeFile(t *testing.T) {
	for _, format := range catalog.Formats {
		t.Run(format.Name, func(t *testing.T) {
			t.Parallel()
			content := &counted{Reader: io.LimitReader(blanks{}, importer.Limit+1)}
			_, err := format.Read(importer.File{Name: "x" + append(format.Extensions, ".txt")[0], Reader: content, Size: importer.Limit + 1})
			var large *importer.TooLargeError
			if !errors.As(err, &large) {
				t.Errorf("error %v, want that it is too large", err)
			}
			if content.bytes > 2<<20 { // a format may read the beginning to recognise the form
				t.Errorf("%d bytes are read", content.bytes)
			}
		})
	}
}
