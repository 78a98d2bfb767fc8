package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"tare/internal/cli"
	"tare/internal/run/machine/owned"
)

// control describes the package. The program is static: it depends on nothing,
// and what it measures with is recommended.
const control = `Package: tare
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: iperf3, fio
Suggests: librsvg2-bin, chromium, man-db, bash-completion
Section: utils
Priority: optional
Description: measure what a security layer costs the workload inside it
 Tare runs a workload with and without a layer such as WireGuard, fscrypt,
 seccomp, gVisor or a service mesh, in random order with an A/A control, proves
 that the layer was on, and gives a verdict with an interval for every metric: on
 this machine, or on any Kubernetes cluster.
`

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tare

Files: *
Copyright: the authors of Tare
License: Apache-2.0
Comment: The program contains Go modules of others, under licences of their own.
 Their names and versions are printed by: go version -m /usr/bin/tare

License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.
`

// deb is a package for Debian and what descends from it.
type deb struct {
	version, arch, maintainer string
	binary, man               string // the program, and the directory of its manual pages
}

// shells are the completion scripts of the package.
var shells = map[string]func(io.Writer) error{
	"usr/share/bash-completion/completions/tare":    func(w io.Writer) error { return cli.Root(cli.State{}).GenBashCompletionV2(w, true) },
	"usr/share/zsh/vendor-completions/_tare":        func(w io.Writer) error { return cli.Root(cli.State{}).GenZshCompletion(w) },
	"usr/share/fish/vendor_completions.d/tare.fish": func(w io.Writer) error { return cli.Root(cli.State{}).GenFishCompletion(w, true) },
}

// write writes the package. dpkg-deb makes it; all times are those of
// SOURCE_DATE_EPOCH, which it heeds.
func (d deb) write(to string) error {
	root, err := os.MkdirTemp("", "tare-deb-")
	if err != nil {
		return err
	}
	defer owned.Remove(root)
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	if err := d.fill(root); err != nil {
		return err
	}
	build := exec.Command("dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, to)
	if out, err := build.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w: install it with: apt-get install dpkg", err)
		}
		return fmt.Errorf("%s: %w: %s", build, err, bytes.TrimSpace(out))
	}
	return nil
}

// fill lays out what the package installs.
func (d deb) fill(root string) error {
	binary, err := os.ReadFile(d.binary)
	if err != nil {
		return err
	}
	complete, err := os.ReadFile("hack/deploy/krew/kubectl_complete-tare")
	if err != nil {
		return err
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	err = errors.Join(
		install(root, "usr/bin/tare", binary, 0o755),
		install(root, "usr/bin/kubectl_complete-tare", complete, 0o755),
		os.Symlink("tare", filepath.Join(root, "usr/bin/kubectl-tare")),
		install(root, "usr/share/doc/tare/copyright", []byte(copyright), 0o644),
		install(root, "usr/share/doc/tare/changelog.gz", compressed(changes), 0o644),
		d.fillMan(root),
	)
	for path, script := range shells {
		var out bytes.Buffer
		err = errors.Join(err, script(&out), install(root, path, out.Bytes(), 0o644))
	}
	if err != nil {
		return err
	}
	size, err := kibibytes(root)
	if err != nil {
		return err
	}
	return install(root, "DEBIAN/control", fmt.Appendf(nil, control, debianVersion(d.version), d.arch, d.maintainer, size), 0o644)
}

// fillMan lays out the manual pages, and one for the name that kubectl knows.
func (d deb) fillMan(root string) error {
	pages, err := filepath.Glob(filepath.Join(d.man, "*.1"))
	if err == nil && len(pages) == 0 {
		err = fmt.Errorf("no manual page in %s", d.man)
	}
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if err := install(root, "usr/share/man/man1/"+filepath.Base(page)+".gz", compressed(text), 0o644); err != nil {
			return err
		}
	}
	return os.Symlink("tare.1.gz", filepath.Join(root, "usr/share/man/man1/kubectl-tare.1.gz"))
}

// install writes a file below root.
func install(root, path string, content []byte, mode fs.FileMode) error {
	to := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		return err
	}
	err := os.Chmod(to, mode) // whatever the umask is
	for dir := filepath.Dir(to); dir != root; dir = filepath.Dir(dir) {
		err = errors.Join(err, os.Chmod(dir, 0o755))
	}
	return err
}

// compressed is content as gzip writes it without a name and a time.
func compressed(content []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is one
	_, _ = z.Write(content)                                 // memory takes everything
	_ = z.Close()
	return out.Bytes()
}

// kibibytes is how much disk the files below root take, as Debian reckons.
func kibibytes(root string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() {
			sum += (info.Size() + 1023) / 1024
		} else {
			sum++
		}
		return err
	})
	return sum, err
}

// early are versions before the one that they name.
var early = regexp.MustCompile(`^(alpha|beta|rc|pre)`)

// debianVersion writes a semantic version as dpkg orders them: what is before a
// release with a tilde, what git describe counts after it with a plus.
func debianVersion(version string) string {
	release, rest, more := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	if !more {
		return release
	}
	sign := "+"
	if early.MatchString(rest) {
		sign = "~"
	}
	return release + sign + strings.ReplaceAll(rest, "-", ".")
}
