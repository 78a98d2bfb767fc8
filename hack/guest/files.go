package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/hack/guest/plan"
	"tare/hack/image/tree"
)

// modules are those that the guest itself needs: for its disk.
var modules = []string{"virtio_pci", "virtio_blk", "crc32c_generic", "ext4"}

// diskSize is that of the guest's disk, which is a file with holes.
const diskSize = 4 << 30

// disk is its name in the guest.
const disk = "/dev/vda"

// builder collects what the guest starts with.
type builder struct {
	source  string // the root of the sources
	scratch string // directory
	kernel  kernel
	files   tree.Tree
	plan    plan.Plan
}

// build makes the guest's files in the directory scratch, and gives the archive.
func (b *builder) build(ctx context.Context, chosen []suite, test string) (string, error) {
	b.files = tree.New()
	b.plan.Disk = disk
	b.files["/etc/passwd"] = text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
	b.files["/etc/group"] = text("root:x:0:\nnogroup:x:65534:\n")
	b.files["/etc/hosts"] = text("127.0.0.1 localhost\n::1 localhost\n")
	for _, dir := range []string{"/root", "/var/tmp", "/tmp", "/proc", "/sys", "/dev"} {
		b.files[dir] = tree.File{Mode: fs.ModeDir | 0o755}
	}
	programs, needed := slices.Clone(base), slices.Clone(modules)
	for _, s := range chosen {
		programs, needed = append(programs, s.Programs...), append(needed, s.Modules...)
	}
	if err := b.addPrograms(ctx, programs); err != nil {
		return "", err
	}
	if err := b.addModules(needed); err != nil {
		return "", err
	}
	say("compiling")
	if err := b.compile(ctx, filepath.Join(b.source, "test", "guest"), "/init", "build", "./init"); err != nil {
		return "", err
	}
	for _, s := range chosen {
		if err := b.addSuite(ctx, s, test); err != nil {
			return "", err
		}
	}
	return b.write()
}

func text(s string) tree.File { return tree.File{Mode: 0o644, Content: []byte(s)} }

// addPrograms takes programs from this machine. It names all packages that are missing.
func (b *builder) addPrograms(ctx context.Context, programs []program) error {
	var missing []string
	for _, p := range programs {
		at, err := exec.LookPath(p.name)
		if err != nil {
			if !slices.Contains(missing, p.from) {
				missing = append(missing, p.from)
			}
			continue
		}
		if err := b.files.TakeInstalled(ctx, at, path.Join("/usr/bin", p.name)); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("programs are missing: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return nil
}

func (b *builder) addModules(names []string) error {
	order, err := b.kernel.order(names, needsOf)
	if err != nil {
		return err
	}
	for _, name := range order {
		content, err := os.ReadFile(b.kernel.modules[name])
		if err != nil {
			return err
		}
		at := path.Join(plan.Modules, name+".ko")
		b.files[at] = tree.File{Mode: 0o644, Content: content}
		b.plan.Modules = append(b.plan.Modules, at)
	}
	return nil
}

// addSuite compiles the tests of a package, and adds what they read.
func (b *builder) addSuite(ctx context.Context, s suite, test string) error {
	at, dir := path.Join("/tests", s.Package), path.Join(plan.Source, s.Package)
	if err := b.compile(ctx, b.source, at, "test", "-c", "./"+s.Package); err != nil {
		return err
	}
	b.files[dir] = tree.File{Mode: fs.ModeDir | 0o755}
	data := filepath.Join(b.source, s.Package, "testdata")
	err := filepath.WalkDir(data, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		b.files[path.Join(dir, "testdata", strings.TrimPrefix(name, data))] = tree.File{Mode: 0o755, Content: content}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	args := []string{"-test.v", "-test.run=" + cmp.Or(test, s.Run), "-test.skip=" + s.Skip}
	b.plan.Suites = append(b.plan.Suites, plan.Suite{Package: s.Package, Program: at, Args: args, Limit: cmp.Or(s.Limit, defaultLimit)})
	return nil
}

// compile compiles a static program of a package.
func (b *builder) compile(ctx context.Context, dir, at string, command ...string) error {
	out := filepath.Join(b.scratch, "program")
	defer os.Remove(out)
	args := slices.Concat([]string{command[0], "-trimpath", "-ldflags=-s -w", "-o", out}, command[1:])
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	content, err := os.ReadFile(out)
	b.files[at] = tree.File{Mode: 0o755, Content: content}
	return err
}

// write writes the archive.
func (b *builder) write() (string, error) {
	p, err := json.Marshal(b.plan)
	if err != nil {
		return "", err
	}
	b.files[plan.File] = tree.File{Mode: 0o644, Content: p}
	archive, err := os.Create(filepath.Join(b.scratch, "initrd"))
	if err != nil {
		return "", err
	}
	if err := b.files.WriteCPIO(archive); err != nil {
		archive.Close()
		return "", err
	}
	return archive.Name(), archive.Close()
}

// makeDisk makes the file of the guest's disk with an empty file system.
func makeDisk(ctx context.Context, dir string) (string, error) {
	name := filepath.Join(dir, "disk")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	if err := f.Truncate(diskSize); err != nil {
		f.Close()
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	_, err = output(ctx, "", "mkfs.ext4", "-q", "-F", name)
	return name, err
}
