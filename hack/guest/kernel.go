package main

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// metapackage depends on the newest cloud kernel of this machine's Debian.
const metapackage = "linux-image-cloud-amd64"

// kernel is Debian's, unpacked and not installed.
type kernel struct {
	image   string            // file
	modules map[string]string // files by their names
	builtin map[string]bool   // modules that are part of the image
}

// fetch gets the kernel's package into the cache, unless it is there.
func fetch(ctx context.Context, cache string) (kernel, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return kernel{}, err
	}
	file, pkg, err := newest(ctx)
	if err != nil {
		return kernel{}, err
	}
	dir := filepath.Join(cache, strings.TrimSuffix(file, ".deb"))
	if _, err := os.Stat(dir); err == nil {
		return open(dir)
	}
	say("getting %s", file)
	scratch, err := os.MkdirTemp(cache, ".new-*")
	if err != nil {
		return kernel{}, err
	}
	defer os.RemoveAll(scratch)
	if _, err := output(ctx, scratch, "apt-get", "download", "-qq", pkg); err != nil {
		return kernel{}, err
	}
	unpacked := filepath.Join(scratch, "unpacked")
	if _, err := output(ctx, scratch, "dpkg-deb", "--extract", file, unpacked); err != nil {
		return kernel{}, err
	}
	if err := os.Rename(unpacked, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return kernel{}, err
	}
	return open(dir)
}

var (
	depends = regexp.MustCompile(`(?m)^\s*Depends: (linux-image-\S+)$`)
	uri     = regexp.MustCompile(`(?m)^'[^']*' (\S+\.deb) `)
)

// newest names the package of the newest kernel, and its file, whose name has the version.
func newest(ctx context.Context) (file, pkg string, err error) {
	text, err := output(ctx, "", "apt-cache", "depends", metapackage)
	if err != nil {
		return "", "", err
	}
	found := depends.FindStringSubmatch(text)
	if found == nil {
		return "", "", fmt.Errorf("apt knows no kernel by the name of %s: apt-get update, on Debian for amd64", metapackage)
	}
	pkg = found[1]
	if text, err = output(ctx, "", "apt-get", "download", "--print-uris", "-qq", pkg); err != nil {
		return "", "", err
	}
	if found = uri.FindStringSubmatch(text); found == nil {
		return "", "", fmt.Errorf("apt-get download --print-uris %s names no file: %q", pkg, text)
	}
	return strings.ReplaceAll(found[1], "%3a", ":"), pkg, nil
}

// open looks at an unpacked package.
func open(dir string) (kernel, error) {
	k := kernel{modules: map[string]string{}, builtin: map[string]bool{}}
	images, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return k, errors.Join(fmt.Errorf("%s has not one kernel but %d", dir, len(images)), err)
	}
	k.image = images[0]
	release := strings.TrimPrefix(filepath.Base(k.image), "vmlinuz-")
	for _, lib := range []string{"lib", "usr/lib"} {
		below := filepath.Join(dir, lib, "modules", release)
		err := filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
			if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok && err == nil && !d.IsDir() {
				k.modules[moduleName(name)] = path
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return k, err
		}
		list, err := os.ReadFile(filepath.Join(below, "modules.builtin"))
		for line := range strings.Lines(string(list)) {
			k.builtin[moduleName(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), ".ko"))] = true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return k, err
		}
	}
	if len(k.modules) == 0 {
		return k, fmt.Errorf("%s has no modules that end in .ko: newer kernels than that of Debian 12 compress them, which this program does not read", dir)
	}
	return k, nil
}

// moduleName is the name as the kernel has it: files have dashes or underscores as they like.
func moduleName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// order lists modules with those that they need before them. Those that are part of the image are left out.
func (k kernel) order(names []string, needsOf func(file string) ([]string, error)) ([]string, error) {
	var list []string
	var add func(name string, path []string) error
	add = func(name string, path []string) error {
		name = moduleName(name)
		switch {
		case k.builtin[name] || slices.Contains(list, name):
			return nil
		case slices.Contains(path, name):
			return fmt.Errorf("the modules %s need each other", strings.Join(append(path, name), ", "))
		case k.modules[name] == "":
			return fmt.Errorf("%s has no module %s", filepath.Base(k.image), name)
		}
		needs, err := needsOf(k.modules[name])
		if err != nil {
			return err
		}
		for _, n := range needs {
			if err := add(n, append(path, name)); err != nil {
				return err
			}
		}
		list = append(list, name)
		return nil
	}
	for _, name := range names {
		if err := add(name, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// needsOf reads from a module which others it needs. (The index modules.dep is made where a kernel is installed.)
func needsOf(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("%s is no module", file)
	}
	text, err := section.Data()
	return dependencies(text), err
}

// dependencies finds them in what a module says of itself: NAME=VALUE, each ending in a zero byte.
func dependencies(info []byte) (list []string) {
	for field := range bytes.SplitSeq(info, []byte{0}) {
		if value, ok := bytes.CutPrefix(field, []byte("depends=")); ok && len(value) > 0 {
			list = append(list, strings.Split(string(value), ",")...)
		}
	}
	return list
}

// output runs a program and gives what it prints.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLines(&said, 5))
	}
	return string(out), nil
}

// lastLines is the end of a text.
func lastLines(text *bytes.Buffer, n int) string {
	var lines []string
	for s := bufio.NewScanner(text); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
