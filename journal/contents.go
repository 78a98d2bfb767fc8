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

// Content is a file of a run whose content its record vouches for.
type Content struct {
	Name   string // below the run, with slashes
	Size   int64  // bytes
	SHA256 string // hexadecimal
}

// ErrNoChain is a run of which nothing can be checked: an older Tare made it.
var ErrNoChain = errors.New("its record has no chain: an older Tare made this run, and nothing shows that it is as it was")

// Contents checks a run as Verify does, and lists what was checked, by name: nothing else
// of what stands in the directory belongs to what was measured. The error is a *DamageError
// where the run is damaged, and ErrNoChain, beside the run, where it is not known to be.
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
	sizes := map[string]int64{TrialsFile: r.trialsEnd, NotesFile: r.notesEnd} // the run may go on
	for _, name := range slices.Concat(r.vouched, v.vouched) {
		sizes[name] = -1
	}
	if isFile(dir, SignatureFile) { // which vouches for the rest
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

// content reads a file, the first bytes of it if size is not negative.
func content(root *os.Root, name string, size int64) (Content, error) {
	h := sha256.New()
	n, err := copyContent(root, h, name, size)
	return Content{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// Copy writes what a content was when it was listed. It is an error if it is another one
// now.
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
