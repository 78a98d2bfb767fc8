// Package image makes container images from files of this machine, with no
// registry, no daemon and no Dockerfile: an archive that `ctr images import`
// and `docker load` read.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Entry is one file, link or directory of an image.
type Entry struct {
	Path    string // absolute, in the image
	Mode    os.FileMode
	Content []byte // of a file; the target of a symlink
}

// Image is what a container starts from. All of it belongs to root.
type Image struct {
	Reference  string // such as tare.test/tools:1
	Entries    []Entry
	Entrypoint []string
}

// Cached returns the image as a docker archive below dir, under a hash of its
// content, and writes it there if it is not.
func (i Image) Cached(dir string) (file string, err error) {
	layer, err := i.layer()
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Reference, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %s\n", i.Reference, i.Entrypoint, runtime.GOARCH)
	h.Write(layer)
	base := strings.NewReplacer("/", "-", ":", "-").Replace(i.Reference)
	file = filepath.Join(dir, base+"-"+hex.EncodeToString(h.Sum(nil))[:16]+".tar")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return file, i.write(file, layer)
}

// write writes a docker archive. Its layer is not compressed: it never leaves
// the machine. It is renamed into place when complete.
func (i Image) write(file string, layer []byte) error {
	ref, err := name.NewTag(i.Reference)
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: i.Entrypoint,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return fmt.Errorf("image %s: %w", i.Reference, err)
	}
	partial, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	if err := tarball.Write(ref, img, partial); err != nil {
		return fmt.Errorf("write image %s: %w", i.Reference, err)
	}
	return os.Rename(partial.Name(), file)
}

// layer is the image's files as a tar archive: sorted, with parent directories,
// owned by root and without times.
func (i Image) layer() ([]byte, error) {
	entries := slices.SortedFunc(slices.Values(withParents(i.Entries)),
		func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: strings.TrimPrefix(e.Path, "/"), Mode: int64(e.Mode.Perm())}
		if e.Mode&os.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		switch {
		case e.Mode.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		case e.Mode&os.ModeSymlink != 0:
			h.Typeflag, h.Linkname = tar.TypeSymlink, string(e.Content)
		default:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.Content))
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Path, err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(e.Content); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Path, err)
			}
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// withParents adds the directories that entries stand in and that are not given.
func withParents(entries []Entry) []Entry {
	seen := map[string]bool{"/": true}
	for _, e := range entries {
		seen[e.Path] = true
	}
	all := slices.Clone(entries)
	for _, e := range entries {
		for dir := path.Dir(e.Path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			all = append(all, Entry{Path: dir, Mode: os.ModeDir | 0o755})
		}
	}
	return all
}
