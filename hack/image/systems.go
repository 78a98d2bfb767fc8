package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tare/hack/image/debian"
	"tare/hack/image/tree"
)

// The packages and programs of systems under test; others are given by -system.
var (
	systemPackages = []string{"haproxy", "charon-systemd", "libcharon-extra-plugins", "libstrongswan-standard-plugins", "strongswan-swanctl"}
	systems        = slices.Concat([]string{"/usr/sbin/haproxy", "/usr/sbin/charon-systemd"},
		plugins("random", "nonce", "openssl", "kdf", "kernel-libipsec", "kernel-netlink", "socket-default", "vici"))
)

// plugins are files of strongSwan's that its daemon loads.
func plugins(names ...string) (files []string) {
	for _, name := range names {
		files = append(files, "/usr/lib/ipsec/plugins/libstrongswan-"+name+".so")
	}
	return files
}

// systemsLayer writes the layer of systems under test for one architecture.
func (b *builder) systemsLayer(ctx context.Context, file, arch string) error {
	given := tree.Tree{}
	for _, program := range b.systems {
		content, err := os.ReadFile(program)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(b.log, "there is no %s: the image is without %s\n", program, filepath.Base(program))
			continue
		}
		if err != nil {
			return err
		}
		if _, err := elfFor(content, arch); err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		given[programsDir+filepath.Base(program)] = tree.File{Mode: 0o755, Content: content}
	}
	debs, err := b.packages(ctx, arch)
	if err != nil {
		return err
	}
	t, err := systemsTree(debs, arch, given)
	if err != nil {
		return err
	}
	return writeLayer(file, t)
}

// systemsTree is what systems under test, those of packages and those given, have beyond the
// image's other packages: themselves, the shared libraries that they need, and the records of
// the packages that those are from.
func systemsTree(debs []debian.Deb, arch string, given tree.Tree) (tree.Tree, error) {
	all, owner := filesOf(debs)
	maps.Copy(all, given)
	t := tree.New()
	for _, p := range systems {
		if err := t.TakeProgram(all, p, arch); err != nil {
			return nil, err
		}
	}
	for p := range given {
		if err := t.TakeProgram(all, p, arch); err != nil {
			return nil, err
		}
	}
	if err := recordAll(t, all, debs, owner); err != nil {
		return nil, err
	}
	base, err := packagesTree(debs, arch)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(t, func(name string, _ tree.File) bool { _, ok := base[name]; return ok })
	return t, nil
}
