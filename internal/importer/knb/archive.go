package knb

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/importer"
)

// An archive may come from anywhere. It is read as a stream. Its entries are kept in memory by their plain
// names, and nothing is written to disk. An entry that knb would not write is an error, since the archive is
// not knb's.
const (
	mostEntries = 1000    // knb writes about 40
	mostFile    = 8 << 20 // the size of one entry, in bytes; the log of an hour has 300 kB
)

// endings are those of the files that are read, besides the files in environment.
var endings = []string{".bw", ".log", ".avg", ".metrics"}

// environment lists the files that describe the system.
var environment = map[string]bool{"env": true, "cpu": true, "kernel": true, "k8s-version": true, "mtu": true}

func readArchive(r io.Reader) (*report, error) {
	files, err := unpack(r)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the archive has no end: the file is truncated")
	case err != nil:
		return nil, fmt.Errorf("the archive: %w", err)
	}
	return assemble(files)
}

// unpack returns the contents of knb's files in an archive, by name.
func unpack(r io.Reader) (map[string]string, error) {
	packed, err := gzip.NewReader(importer.Bound(r, importer.Limit, "it"))
	if err != nil {
		return nil, err
	}
	unpacked := importer.Bound(packed, importer.Limit, "what it unpacks to")
	entries := tar.NewReader(unpacked)
	files := map[string]string{}
	left := int64(importer.Limit) // counted from the headers, since a sparse file is longer than its data
	for n := 1; ; n++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, unpacked) // the rest is read so that the checksum is checked
			return files, err
		}
		if err != nil {
			return nil, err
		}
		if n > mostEntries {
			return nil, fmt.Errorf("it has more than %d entries, the most that are read", mostEntries)
		}
		name, err := plainName(header)
		if err != nil {
			return nil, err
		}
		if !wanted(name) {
			continue
		}
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("there are two entries %.60q", name)
		}
		content, err := io.ReadAll(importer.Bound(entries, min(mostFile, left), fmt.Sprintf("entry %.60q", name)))
		if err != nil {
			return nil, err
		}
		left -= int64(len(content))
		files[name] = string(content)
	}
}

// plainName checks an entry and returns its name without directories; "" for a directory.
func plainName(h *tar.Header) (string, error) {
	if !filepath.IsLocal(h.Name) || strings.ContainsAny(h.Name, "\\\x00") {
		return "", fmt.Errorf("entry %.60q leads out of the archive", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return path.Base(h.Name), nil
	case tar.TypeDir:
		return "", nil
	}
	return "", fmt.Errorf("entry %.60q is neither a file nor a directory", h.Name)
}

func wanted(name string) bool {
	return environment[name] || !strings.HasPrefix(name, ".") && slices.Contains(endings, path.Ext(name))
}
