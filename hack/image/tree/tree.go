// Package tree is the files of an image before they become a layer: read from
// packages, picked by what programs need, and written as a tar archive whose
// bytes depend on nothing but them.
package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file, directory or symbolic link. All of it belongs to root.
type File struct {
	Mode    fs.FileMode
	Content []byte // of a regular file
	Target  string // of a symbolic link
}

// Tree is files by their absolute paths. Directories need not be in it.
type Tree map[string]File

// merged are the directories that are links into /usr in Debian's own
// installations; packages still name them.
var merged = []string{"bin", "sbin", "lib", "lib64"}

// New is a tree with the links of a merged /usr.
func New() Tree {
	t := Tree{}
	for _, dir := range merged {
		t["/"+dir] = File{Mode: fs.ModeSymlink | 0o777, Target: "usr/" + dir}
	}
	return t
}

// Canonical is where a path of a package is in an image with a merged /usr.
func Canonical(name string) string {
	name = path.Join("/", name)
	for _, dir := range merged {
		if strings.HasPrefix(name, "/"+dir+"/") {
			return "/usr" + name
		}
	}
	return name
}

// Read reads a tar archive of a package.
func Read(r io.Reader) (Tree, error) {
	t := Tree{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		name := Canonical(h.Name)
		mode := h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
		switch h.Typeflag {
		case tar.TypeReg:
			content, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			t[name] = File{Mode: mode, Content: content}
		case tar.TypeSymlink:
			t[name] = File{Mode: fs.ModeSymlink | 0o777, Target: h.Linkname}
		case tar.TypeLink:
			same, ok := t[Canonical(h.Linkname)]
			if !ok {
				return nil, fmt.Errorf("%s is a hard link to %s, which does not come before it", name, h.Linkname)
			}
			t[name] = same
		case tar.TypeDir: // made where files need it
		default:
			return nil, fmt.Errorf("%s is of the type %q, which images of packages have no use for", name, h.Typeflag)
		}
	}
}

// Take copies a path from another tree, with the links on the way, and returns
// the path of the file that it ends at.
func (t Tree) Take(from Tree, name string) (string, error) {
	name = Canonical(name)
	for range 10 {
		f, ok := from[name]
		if !ok {
			return "", fmt.Errorf("%s is in none of the packages", name)
		}
		t[name] = f
		if f.Mode&fs.ModeSymlink == 0 {
			return name, nil
		}
		next := f.Target
		if !path.IsAbs(next) {
			next = path.Join(path.Dir(name), next)
		}
		name = Canonical(next)
	}
	return "", fmt.Errorf("%s: too many links", name)
}

// Write writes a tar archive: sorted, with parent directories, without times.
func (t Tree) Write(out io.Writer) error {
	w := tar.NewWriter(out)
	full := t.withParents()
	for _, name := range slices.Sorted(maps.Keys(full)) {
		f := full[name]
		h := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: int64(f.Mode.Perm()), Format: tar.FormatUSTAR}
		if f.Mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		switch {
		case f.Mode.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		case f.Mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.Target
		default:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(f.Content))
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := w.Write(f.Content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return w.Close()
}

// Install writes the files below a directory, which must not have them yet.
func (t Tree) Install(dir string) error {
	full := t.withParents()
	for _, name := range slices.Sorted(maps.Keys(full)) { // parents come first
		f, at := full[name], filepath.Join(dir, name)
		var err error
		switch {
		case f.Mode.IsDir():
			if err = os.MkdirAll(at, 0o755); err == nil {
				err = os.Chmod(at, f.Mode) // whatever the umask
			}
		case f.Mode&fs.ModeSymlink != 0:
			err = os.Symlink(f.Target, at)
		default:
			if err = os.WriteFile(at, f.Content, f.Mode.Perm()); err == nil {
				err = os.Chmod(at, f.Mode)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withParents adds the directories that files stand in and that are not given.
func (t Tree) withParents() Tree {
	full := maps.Clone(t)
	for name := range t {
		for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
			if _, ok := full[dir]; !ok {
				full[dir] = File{Mode: fs.ModeDir | 0o755}
			}
		}
	}
	return full
}
