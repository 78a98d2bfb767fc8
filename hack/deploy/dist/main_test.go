package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/hack/deploy/krew"
)

// standIn is a program in tare's place.
func standIn(platform string) string { return "#!/bin/sh\necho tare for " + platform + "\n" }

// made is a directory with a release in dist.
func made(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Chdir("../../..")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	dir := t.TempDir()
	args := []string{"-version", "abc1234-dirty", "-releases", "https://releases.example.org/tare",
		"-man", filepath.Join(dir, "man"), "-maintainer", "Tare <tare@example.org>"}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			platform := system + "-" + arch
			args = append(args, "-tare", platform+"="+filepath.Join(dir, platform))
			if err := os.WriteFile(filepath.Join(dir, platform), []byte(standIn(platform)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "man"), 0o755), os.WriteFile(filepath.Join(dir, "man/tare.1"), []byte(".TH TARE 1\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := run(append(args, filepath.Join(dir, "dist"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := made(t)
	manifest, err := os.ReadFile(filepath.Join(dir, "dist/tare.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := krew.Check("tare", manifest)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		name := "tare-v0.0.0-abc1234-dirty-" + platform + ".tar.gz"
		if p.URI != "https://releases.example.org/tare/"+name {
			t.Errorf("%s is had from %s", platform, p.URI)
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
		if err != nil || string(program) != standIn(platform) {
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
	t.Chdir("../../..")
	t.Setenv("SOURCE_DATE_EPOCH", "")
	for _, args := range [][]string{{}, {"-version", "v1.0.0", "dir"}} {
		if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "usage: dist") {
			t.Errorf("%v: %v", args, err)
		}
	}
	args := []string{"-version", "v1.0.0", "-releases", "http://x", "-man", "man", "-maintainer", "x", "-tare", "linux-amd64=LICENSE", t.TempDir()}
	if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "SOURCE_DATE_EPOCH is not set") {
		t.Errorf("no date: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	args[5] = t.TempDir()
	if err := run(args); err == nil || err.Error() != "no manual page in "+args[5] {
		t.Errorf("no manual pages: %v", err)
	}
	if err := os.WriteFile(filepath.Join(args[5], "tare.1"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(args); err == nil || !strings.HasPrefix(err.Error(), "krew would refuse the manifest: platforms[0]: uri") {
		t.Errorf("http: %v", err)
	}
}
