package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"tare/hack/image/debian"
	"tare/hack/image/oci"
	"tare/hack/image/tree"
)

type builder struct {
	lock     string // file
	cache    string
	store    store
	newer    bool
	version  string
	revision string
	binaries []binaries
	systems  []string // files: programs under test, for the image that has them
	log      io.Writer
}

// binaries are Tare's own programs for one architecture, in a directory.
type binaries struct{ arch, dir string }

// archive writes the image for all the binaries' architectures.
func (b *builder) archive(ctx context.Context, file string, out io.Writer) error {
	work, err := os.MkdirTemp("", "tare-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// The machine's own architecture comes first: see oci.Write.
	slices.SortStableFunc(b.binaries, func(x, y binaries) int {
		return cmp.Compare(foreign(x.arch), foreign(y.arch))
	})
	var images []oci.Image
	for _, one := range b.binaries {
		packages, err := b.packagesLayer(ctx, one.arch)
		if err != nil {
			return err
		}
		own := filepath.Join(work, one.arch+".tar.gz")
		t, err := one.tree()
		if err != nil {
			return err
		}
		if err := writeLayer(own, t); err != nil {
			return err
		}
		layers := []string{packages, own}
		if len(b.systems) > 0 {
			systems := filepath.Join(work, one.arch+"-systems.tar.gz")
			if err := b.systemsLayer(ctx, systems, one.arch); err != nil {
				return err
			}
			layers = []string{packages, systems, own}
		}
		images = append(images, oci.Image{
			Platform: v1.Platform{OS: "linux", Architecture: one.arch},
			Layers:   layers,
			Config:   config(b.version, b.revision),
		})
	}
	name := reference
	if len(b.systems) > 0 {
		name = withSystems
	}
	written, err := oci.Write(file, name, images)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s, %s\n", file, name, written.Index)
	for _, w := range written.Images {
		fmt.Fprintf(out, "  %-12s %s  %.1f MB, %.1f MB unpacked\n", w.Platform, w.Digest, megabytes(w.Compressed), megabytes(w.Size))
	}
	return nil
}

func foreign(arch string) int {
	if arch == runtime.GOARCH {
		return 0
	}
	return 1
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// rootfs writes the files of the image for one architecture: what the
// Dockerfile copies.
func (b *builder) rootfs(ctx context.Context, dir string) error {
	own, err := b.binaries[0].tree()
	if err != nil {
		return err
	}
	debs, err := b.packages(ctx, b.binaries[0].arch)
	if err != nil {
		return err
	}
	t, err := packagesTree(debs, b.binaries[0].arch)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, f := range own {
		t[name] = f
	}
	return t.Install(dir)
}

func (b binaries) tree() (tree.Tree, error) {
	t := tree.Tree{}
	for _, name := range own {
		file := filepath.Join(b.dir, name)
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := static(content, b.arch); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		t[programsDir+name] = tree.File{Mode: 0o755, Content: content}
	}
	return t, nil
}

// pin writes the lock anew.
func (b *builder) pin(ctx context.Context) error {
	var all []debian.Package
	for _, arch := range architectures {
		debs, err := b.store.newest(ctx, arch)
		if err != nil {
			return err
		}
		all = append(all, packagesOf(debs)...)
	}
	var out bytes.Buffer
	if err := debian.WriteLock(&out, lockComment, all); err != nil {
		return err
	}
	return os.WriteFile(b.lock, out.Bytes(), 0o644)
}

func packagesOf(debs []debian.Deb) []debian.Package {
	var packages []debian.Package
	for _, d := range debs {
		packages = append(packages, d.Package)
	}
	return packages
}

func (b *builder) readLock() ([]debian.Package, error) {
	f, err := os.Open(b.lock)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := debian.ReadLock(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.lock, err)
	}
	return all, nil
}

// packages are those that the lock pins for an architecture.
func (b *builder) packages(ctx context.Context, arch string) ([]debian.Deb, error) {
	all, err := b.readLock()
	if err != nil {
		return nil, err
	}
	pinned := debian.For(all, arch)
	if len(pinned) == 0 {
		return nil, fmt.Errorf("%s pins no packages for %s, only for %v", b.lock, arch, architectures)
	}
	debs, err := b.store.fetch(ctx, pinned)
	var gone *debian.GoneError
	switch {
	case errors.As(err, &gone) && b.newer:
		fmt.Fprintf(b.log, "%v\nthe newest packages are taken for %s: the image is not the one that %s pins (make image-lock pins them)\n", gone, arch, b.lock)
		return b.store.newest(ctx, arch)
	case errors.As(err, &gone):
		return nil, fmt.Errorf("%w\nmake image-lock pins the newest; -newer takes them this once", err)
	}
	return debs, err
}

// packagesLayer is the file of the layer of packages for one architecture. It is
// kept under a hash of what it is made from: the lock and this program.
func (b *builder) packagesLayer(ctx context.Context, arch string) (string, error) {
	all, err := b.readLock()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := debian.WriteLock(h, "", debian.For(all, arch)); err != nil {
		return "", err
	}
	if err := hashSelf(h); err != nil {
		return "", err
	}
	file := filepath.Join(b.cache, "packages-"+arch+"-"+hex.EncodeToString(h.Sum(nil))[:16]+".tar.gz")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	debs, err := b.packages(ctx, arch)
	if err != nil {
		return "", err
	}
	t, err := packagesTree(debs, arch)
	if err != nil {
		return "", err
	}
	if !slices.Equal(packagesOf(debs), debian.For(all, arch)) { // newer ones than the lock's
		file = filepath.Join(b.cache, "packages-"+arch+"-newer.tar.gz")
	}
	if err := writeLayer(file, t); err != nil {
		return "", err
	}
	return file, forget(filepath.Join(b.cache, "packages-"+arch+"-*.tar.gz"))
}

// forget removes all but the newest three of the layers that a pattern names, so
// that the cache does not grow with every change.
func forget(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	written := map[string]time.Time{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		written[file] = info.ModTime()
	}
	slices.SortFunc(files, func(x, y string) int { return written[y].Compare(written[x]) })
	for _, file := range files[min(3, len(files)):] {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// hashSelf adds this program, which decides what is taken from packages.
func hashSelf(h io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open(self)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, f)
	return err
}

// writeLayer writes a layer, compressed; it is renamed into place when complete.
func writeLayer(file string, t tree.Tree) error {
	partial, err := os.CreateTemp(filepath.Dir(file), ".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	defer partial.Close()
	z := gzip.NewWriter(partial)
	if err := t.Write(z); err != nil {
		return err
	}
	if err := errors.Join(z.Close(), partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), file)
}
