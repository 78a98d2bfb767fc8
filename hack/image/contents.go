package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"tare/hack/image/debian"
	"tare/hack/image/tree"
)

// What the image is. The Dockerfile says the same, and a test compares them.
const (
	reference = "tare:latest"
	// withSystems is the image that has systems under test as well (systems.go).
	withSystems = "tare-systems:latest"
	user        = "65532:65532" // the user "nonroot" of other minimal images
	entrypoint  = programsDir + "tare"
	// Tare's own programs are there: the command line, and what its pods run.
	programsDir = "/usr/bin/"
	searchPath  = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// wanted are the packages whose programs are in the image; base-files is for
// the licences that others' copyright files refer to, and for the name of the
// distribution.
var wanted = []string{"base-files", "busybox-static", "fio", "iperf3"}

// programs come with all the shared libraries that they need, and with nothing
// else of their packages but the copyright.
var programs = []string{"/usr/bin/iperf3", "/usr/bin/fio", "/bin/busybox"}

// applets are busybox's programs that the workload "command" and whoever looks
// into a pod may want. busybox itself has more.
var applets = strings.Fields(`awk base64 cat chmod cp cut date dd df diff dirname du echo env expr false find free grep
	gunzip gzip head hostname id kill ln ls md5sum mkdir mktemp more mv nc nproc nslookup od paste ping printf ps
	pwd readlink realpath rm rmdir sed seq sh sha256sum sleep sort stat sync tail tar tee test time timeout top touch tr
	true truncate tty uname uniq uptime wc wget which whoami xargs yes`)

// filesOf are the files of all packages, and the package that each is of.
func filesOf(debs []debian.Deb) (all tree.Tree, owner map[string]int) {
	all, owner = tree.Tree{}, map[string]int{}
	for i, d := range debs {
		for name, f := range d.Files {
			all[name], owner[name] = f, i
		}
	}
	return all, owner
}

// packagesTree is everything of the image that comes from packages, and the few
// files that any system has.
func packagesTree(debs []debian.Deb, arch string) (tree.Tree, error) {
	all, owner := filesOf(debs)
	t := tree.New()
	for _, p := range programs {
		if err := t.TakeProgram(all, p, arch); err != nil {
			return nil, err
		}
	}
	if _, err := t.Take(all, "/usr/lib/os-release"); err != nil {
		return nil, err
	}
	for name := range all {
		if strings.HasPrefix(name, "/usr/share/common-licenses/") {
			if _, err := t.Take(all, name); err != nil {
				return nil, err
			}
		}
	}
	if err := recordAll(t, all, debs, owner); err != nil {
		return nil, err
	}
	system(t)
	return t, nil
}

// recordAll adds the records of every package that anything is taken from; a
// copyright file may be that of one more package.
func recordAll(t, all tree.Tree, debs []debian.Deb, owner map[string]int) error {
	recorded := map[int]bool{}
	for {
		before := len(recorded)
		for name := range maps.Clone(t) {
			i, ok := owner[name]
			if !ok || recorded[i] {
				continue
			}
			recorded[i] = true
			if err := record(t, all, debs[i]); err != nil {
				return err
			}
		}
		if len(recorded) == before {
			return nil
		}
	}
}

// record adds a package's copyright, and its stanza where scanners for
// vulnerabilities look for packages of images that have no dpkg.
func record(t, all tree.Tree, d debian.Deb) error {
	// The directory may be a link to that of another package of the same source.
	doc := "/usr/share/doc/" + d.Name
	if link, ok := all[doc]; ok && link.Mode&fs.ModeSymlink != 0 {
		t[doc] = link
		doc = path.Join("/usr/share/doc", link.Target)
	}
	if _, err := t.Take(all, doc+"/copyright"); err != nil {
		return fmt.Errorf("copyright of %s: %w", d.Name, err)
	}
	t["/var/lib/dpkg/status.d/"+d.Name] = tree.File{Mode: 0o644, Content: d.Control}
	return nil
}

// system adds users, links of busybox, and directories.
func system(t tree.Tree) {
	text := func(name, content string) { t[name] = tree.File{Mode: 0o644, Content: []byte(content)} }
	text("/etc/passwd", "root:x:0:0:root:/:/bin/sh\n"+
		"tare:x:65532:65532:tare:/tmp:/bin/sh\n"+
		"nobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n")
	text("/etc/group", "root:x:0:\ntare:x:65532:\nnogroup:x:65534:\n")
	text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	t["/etc/os-release"] = tree.File{Mode: fs.ModeSymlink | 0o777, Target: "../usr/lib/os-release"}
	for _, applet := range applets {
		t["/usr/bin/"+applet] = tree.File{Mode: fs.ModeSymlink | 0o777, Target: "busybox"}
	}
	t["/tmp"] = tree.File{Mode: fs.ModeDir | fs.ModeSticky | 0o777}
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/var/tmp"} {
		t[dir] = tree.File{Mode: fs.ModeDir | 0o755}
	}
	t["/var/tmp"] = t["/tmp"]
	t["/var/run"] = tree.File{Mode: fs.ModeSymlink | 0o777, Target: "../run"}
}

// usedNames are the packages that the tree has records of.
func usedNames(t tree.Tree) map[string]bool {
	used := map[string]bool{}
	for name := range t {
		if p, ok := strings.CutPrefix(name, "/var/lib/dpkg/status.d/"); ok {
			used[p] = true
		}
	}
	return used
}

// machines are the architectures in the words of ELF.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// own are the programs that Tare itself adds.
var own = []string{"tare", "tare-agent"}

// static says whether a program is a static one for the architecture.
func static(program []byte, arch string) error {
	f, err := elfFor(program, arch)
	if err != nil {
		return err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it is linked dynamically: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// elfFor reads a program, which must be one for the architecture.
func elfFor(program []byte, arch string) (*elf.File, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return nil, fmt.Errorf("not a program for Linux: %w", err)
	}
	if f.Machine != machines[arch] {
		return nil, fmt.Errorf("a program for %s, not for %s", f.Machine, arch)
	}
	return f, nil
}

// config is what a container starts from.
func config(version, revision string) v1.Config {
	return v1.Config{
		User:       user,
		Entrypoint: []string{entrypoint},
		Env:        []string{"PATH=" + searchPath},
		WorkingDir: "/",
		Labels:     labels(version, revision),
	}
}

func labels(version, revision string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "tare",
		"org.opencontainers.image.description": "Measures what a security layer costs the workload inside it",
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.revision":    revision,
	}
}
