package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/deploy/krew"
)

func TestRun(t *testing.T) {
	t.Chdir("../..")
	dir := t.TempDir()
	for _, arch := range []string{"amd64", "arm64"} {
		if err := os.WriteFile(filepath.Join(dir, arch), []byte("tare for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{
		"-version", "abc1234-dirty", "-releases", "https://releases.example.org/tare",
		"-tare", "amd64=" + filepath.Join(dir, "amd64"), "-tare", "arm64=" + filepath.Join(dir, "arm64"), filepath.Join(dir, "dist"),
	}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "dist/tare.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := krew.Check("tare", manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Spec.Platforms {
		arch := p.Selector.MatchLabels["arch"]
		name := "tare-v0.0.0-abc1234-dirty-linux-" + arch + ".tar.gz"
		if p.URI != "https://releases.example.org/tare/"+name {
			t.Errorf("%s is had from %s", arch, p.URI)
		}
		content, err := os.ReadFile(filepath.Join(dir, "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != p.SHA256 {
			t.Errorf("%s has the digest %s, the manifest says %s", name, sum, p.SHA256)
		}
		// What krew does: unpack, and link the program.
		unpacked := t.TempDir()
		tar := exec.Command("tar", "-xzf", "-", "-C", unpacked)
		tar.Stdin = bytes.NewReader(content)
		if out, err := tar.CombinedOutput(); err != nil {
			t.Fatalf("tar: %v: %s", err, out)
		}
		program, err := os.ReadFile(filepath.Join(unpacked, p.Bin))
		if err != nil || string(program) != "tare for "+arch {
			t.Errorf("%s of %s is %q, %v", p.Bin, name, program, err)
		}
	}
	sums := exec.Command("sha256sum", "--check", "--quiet", "SHA256SUMS")
	sums.Dir = filepath.Join(dir, "dist")
	if out, err := sums.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v: %s", err, out)
	}
}

func TestSemanticVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-4-gabc": "v1.2.3-4-gabc", "abc1234": "v0.0.0-abc1234", "v1": "v0.0.0-v1",
	} {
		if got := semanticVersion(version); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Chdir("../..")
	for _, args := range [][]string{{}, {"-version", "v1.0.0", "dir"}} {
		if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "usage: dist") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := run([]string{"-version", "v1.0.0", "-releases", "http://x", "-tare", "amd64=LICENSE", "-tare", "arm64=LICENSE", t.TempDir()}); err == nil ||
		!strings.HasPrefix(err.Error(), "krew would refuse the manifest: platforms[0]: uri") {
		t.Errorf("http: %v", err)
	}
}
