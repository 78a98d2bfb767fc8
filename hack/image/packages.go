package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tare/hack/image/debian"
)

const lockComment = `The packages that the image is made of, for every architecture. Written by
make image-lock, which takes the newest versions; please do not edit.
`

// store keeps packages by their digests.
type store struct {
	dir     string
	sources string // in the words of apt's sources.list
	log     io.Writer
}

func (s store) file(p debian.Package) string {
	return filepath.Join(s.dir, p.Arch+"-"+p.Name+"-"+p.SHA256[:16]+".deb")
}

// fetch reads the packages of one architecture, as they are pinned. Those that
// are not kept yet are downloaded.
func (s store) fetch(ctx context.Context, packages []debian.Package) ([]debian.Deb, error) {
	var missing []debian.Package
	for _, p := range packages {
		if _, err := os.Stat(s.file(p)); err != nil {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		if err := s.download(ctx, missing); err != nil {
			return nil, err
		}
	}
	debs := make([]debian.Deb, len(packages))
	for i, p := range packages {
		d, err := debian.ReadDeb(ctx, s.file(p))
		if err != nil {
			return nil, err
		}
		if d.Arch = p.Arch; d.Package != p {
			return nil, fmt.Errorf("%s is %s %s with the SHA-256 %s, not %s %s with %s; remove it",
				s.file(p), d.Name, d.Version, d.SHA256, p.Name, p.Version, p.SHA256)
		}
		debs[i] = d
	}
	return debs, nil
}

func (s store) download(ctx context.Context, packages []debian.Package) (err error) {
	apt, err := debian.Open(ctx, s.sources, packages[0].Arch, s.log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, apt.Close()) }()
	fmt.Fprintf(s.log, "downloading %d packages for %s\n", len(packages), packages[0].Arch)
	files, err := apt.Pinned(ctx, packages)
	if err != nil {
		return err
	}
	got, err := readAll(ctx, files, packages[0].Arch)
	if err != nil {
		return err
	}
	for _, p := range packages {
		i := slices.IndexFunc(got, func(d debian.Deb) bool { return d.Name == p.Name && d.Version == p.Version })
		if i < 0 {
			return fmt.Errorf("apt downloaded no %s for %s", p, p.Arch)
		}
		if got[i].SHA256 != p.SHA256 {
			return fmt.Errorf("%s for %s has the SHA-256 %s, but %s is pinned", p, p.Arch, got[i].SHA256, p.SHA256)
		}
		if err := s.keep(files[i], p); err != nil {
			return err
		}
	}
	return nil
}

// newest resolves, downloads and keeps the newest packages of one architecture.
func (s store) newest(ctx context.Context, arch string) (_ []debian.Deb, err error) {
	apt, err := debian.Open(ctx, s.sources, arch, s.log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, apt.Close()) }()
	files, err := apt.Newest(ctx, slices.Concat(wanted, systemPackages))
	if err != nil {
		return nil, err
	}
	debs, err := readAll(ctx, files, arch)
	if err != nil {
		return nil, err
	}
	t, err := packagesTree(debs, arch)
	if err != nil {
		return nil, err
	}
	more, err := systemsTree(debs, arch, nil)
	if err != nil {
		return nil, err
	}
	used := usedNames(t)
	maps.Copy(used, usedNames(more))
	var kept []debian.Deb
	for i, d := range debs {
		if !used[d.Name] {
			continue
		}
		if err := s.keep(files[i], d.Package); err != nil {
			return nil, err
		}
		kept = append(kept, d)
	}
	return kept, nil
}

func readAll(ctx context.Context, files []string, arch string) ([]debian.Deb, error) {
	debs := make([]debian.Deb, len(files))
	for i, file := range files {
		var err error
		if debs[i], err = debian.ReadDeb(ctx, file); err != nil {
			return nil, err
		}
		debs[i].Arch = arch
	}
	return debs, nil
}

// keep copies a package into the store; it is renamed into place when complete.
func (s store) keep(file string, p debian.Package) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	partial, err := os.CreateTemp(s.dir, "partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	_, err = partial.Write(content)
	if err := errors.Join(err, partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), s.file(p))
}
