package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/hack/image/tree"
)

// TestSystems builds the image of systems under test with a program that is linked
// dynamically, and runs it and HAProxy with nothing but the image's files.
func TestSystems(t *testing.T) {
	b := newTestBuilder(t)
	b.binaries = []binaries{compiled(t, runtime.GOARCH)}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	program, err = filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := elf.Open(program); err != nil {
		t.Fatal(err)
	} else if f.Section(".interp") == nil {
		t.Skipf("%s is linked statically", program)
	}
	given := filepath.Join(t.TempDir(), "subject")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(given, content, 0o600); err != nil {
		t.Fatal(err)
	}
	b.systems = []string{given, "/nonexistent/bao"}
	file := filepath.Join(t.TempDir(), "systems.tar")
	var out bytes.Buffer
	if err := b.archive(t.Context(), file, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ": tare-systems:latest, sha256:") || strings.Count(out.String(), "linux/") != 1 {
		t.Errorf("it says %s", out.String())
	}
	if log := b.log.(*bytes.Buffer).String(); !strings.Contains(log, "there is no /nonexistent/bao: the image is without bao\n") {
		t.Errorf("it says %q of a program that is not there", log)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tree.Read(mutate.Extract(img))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := got.Install(root); err != nil {
		t.Fatal(err)
	}
	everyLicence(t, root)
	if os.Geteuid() != 0 {
		t.Skip("not root: the programs of the image are not run")
	}
	for _, args := range [][]string{{"/usr/bin/subject"}, {"/usr/sbin/haproxy", "-v"}, {"/usr/bin/iperf3", "--version"}, {"/usr/bin/tare"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// TestSystemsOfAnother refuses programs of another architecture, and what is none.
func TestSystemsOfAnother(t *testing.T) {
	b := newTestBuilder(t)
	b.systems = []string{filepath.Join(compiled(t, "arm64").dir, "tare")}
	if err := b.systemsLayer(t.Context(), filepath.Join(t.TempDir(), "x"), "amd64"); err == nil || !strings.HasSuffix(err.Error(), "/tare: a program for EM_AARCH64, not for amd64") {
		t.Errorf("got %v", err)
	}
}
