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

	"tare/importer"
)

// An archive comes from anywhere. It is read as a stream, its entries are kept in
// memory by their plain names and nothing is ever written; what knb would not put
// into one is refused all the same, since such a file is not knb's.
const (
	mostEntries = 1000    // knb's has about 40
	mostFile    = 8 << 20 // bytes of one entry; a log of an hour has 300 kB
)

// endings are those of the files that are read, besides those in environment.
var endings = []string{".bw", ".log", ".avg", ".metrics"}

// environment are the files that tell of the system.
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

// unpack gives the contents of the files in an archive that are knb's, by name.
func unpack(r io.Reader) (map[string]string, error) {
	packed, err := gzip.NewReader(importer.Bound(r, importer.Limit, "it"))
	if err != nil {
		return nil, err
	}
	unpacked := importer.Bound(packed, importer.Limit, "what it unpacks to")
	entries := tar.NewReader(unpacked)
	files := map[string]string{}
	left := int64(importer.Limit) // sparse files are longer than what is read of them
	for n := 1; ; n++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, unpacked) // up to the checksum
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

// plainName checks an entry and gives its name without directories; "" for a
// directory.
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
