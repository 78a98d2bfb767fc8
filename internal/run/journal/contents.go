package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
)

// Content is a file of a run whose digest is on record.
type Content struct {
	Name   string // path relative to the run directory, with slashes
	Size   int64  // bytes
	SHA256 string // hexadecimal
}

// ErrNoChain is the error for a run without chains, which cannot be checked.
var ErrNoChain = errors.New("its record has no chain, since an older Tare made this run: changes of it cannot be detected")

// Contents verifies a run and lists the checked files by name. Other files in the directory do not
// belong to the run. If the run is damaged, the error is a *DamageError. If it has no chains, the error
// is ErrNoChain, and the Run is returned, too.
func Contents(dir string) (*Run, []Content, error) {
	r, v, err := Verify(dir)
	if err != nil {
		return nil, nil, err
	}
	if v.Chain == "" {
		return r, nil, fmt.Errorf("run %s: %w", dir, ErrNoChain)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// these lengths exclude lines that are added meanwhile
	sizes := map[string]int64{TrialsFile: r.trialsEnd, NotesFile: r.notesEnd}
	for _, name := range slices.Concat(r.verified, v.verified) {
		sizes[name] = -1
	}
	if isFile(dir, SignatureFile) { // the signature covers all other files
		sizes[SignatureFile] = -1
	}
	var all []Content
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if !fs.ValidPath(name) {
			return nil, nil, &DamageError{Dir: dir, Where: NotesFile, What: fmt.Sprintf("it names a file %q", name)}
		}
		c, err := content(root, name, sizes[name])
		if err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", dir, err)
		}
		all = append(all, c)
	}
	return r, all, nil
}

// content returns the size and digest of a file, or of its first size bytes if size is not negative.
func content(root *os.Root, name string, size int64) (Content, error) {
	h := sha256.New()
	n, err := copyContent(root, h, name, size)
	return Content{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// Copy writes the listed content of a file. If the file has changed since, Copy returns a *DamageError.
func (c Content) Copy(w io.Writer, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	h := sha256.New()
	n, err := copyContent(root, io.MultiWriter(w, h), c.Name, c.Size)
	if err == nil && (n != c.Size || hex.EncodeToString(h.Sum(nil)) != c.SHA256) {
		err = &DamageError{Dir: dir, Where: c.Name, What: "it was changed while it was read"}
	}
	return err
}

func copyContent(root *os.Root, w io.Writer, name string, size int64) (int64, error) {
	f, err := openFile(root, name, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if size < 0 {
		return io.Copy(w, f)
	}
	return io.Copy(w, io.LimitReader(f, size))
}
