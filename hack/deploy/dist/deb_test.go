package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestDebianPackage(t *testing.T) {
	dir := made(t)
	arch := strings.TrimSpace(command(t, "dpkg", "--print-architecture"))
	file := filepath.Join(dir, "dist/tare_0.0.0+abc1234.dirty_"+arch+".deb")
	control := command(t, "dpkg-deb", "--field", file)
	for _, want := range []string{"Package: tare\n", "Version: 0.0.0+abc1234.dirty\n", "Architecture: " + arch + "\n",
		"Maintainer: Tare <tare@example.org>\n", "Description: measure what"} {
		if !strings.Contains(control, want) {
			t.Errorf("the package does not say %q:\n%s", want, control)
		}
	}
	for line := range strings.Lines(command(t, "dpkg-deb", "--contents", file)) {
		fields := strings.Fields(line)
		link, open := line[0] == 'l', strings.Contains(line[4:10], "w")
		if fields[1] != "root/root" || fields[3] != "2023-11-14" || open && !link {
			t.Errorf("owner, date or mode: %s", line)
		}
	}
	root := installed(t, file)
	for _, name := range []string{"tare", "kubectl-tare"} {
		if got := command(t, filepath.Join(root, "usr/bin", name)); got != "tare for linux-"+arch+"\n" {
			t.Errorf("%s prints %q", name, got)
		}
	}
	for path, want := range map[string]string{
		"usr/bin/kubectl_complete-tare": "kubectl-tare __complete", "usr/share/doc/tare/copyright": "License: Apache-2.0",
		"usr/share/bash-completion/completions/tare": "complete -o default -F __start_tare tare", "usr/share/zsh/vendor-completions/_tare": "#compdef tare",
		"usr/share/fish/vendor_completions.d/tare.fish": "complete -c tare",
	} {
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not hold %q: %v", path, want, err)
		}
	}
	for path, want := range map[string]string{"man/man1/tare.1.gz": ".TH TARE 1\n", "man/man1/kubectl-tare.1.gz": ".TH TARE 1\n", "doc/tare/changelog.gz": "# Changelog"} {
		if got := command(t, "gzip", "-dc", filepath.Join(root, "usr/share", path)); !strings.HasPrefix(got, want) {
			t.Errorf("%s holds %q", path, got)
		}
	}
}

// installed is a root of its own that dpkg has installed the package in. Without
// the rights of root, it is unpacked only.
func installed(t *testing.T, file string) string {
	t.Helper()
	root := t.TempDir()
	if os.Geteuid() != 0 {
		command(t, "dpkg-deb", "--extract", file, root)
		return root
	}
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "dpkg", "--root="+root, "--log=/dev/null", "--install", file)
	if changed := command(t, "dpkg", "--root="+root, "--verify", "tare"); changed != "" {
		t.Errorf("dpkg finds other files than it installed:\n%s", changed)
	}
	return root
}

func TestDebianPackageHasTheSameBytesAgain(t *testing.T) {
	dir := made(t)
	const name = "tare_0.0.0+abc1234.dirty_arm64.deb"
	first, err := os.ReadFile(filepath.Join(dir, "dist", name))
	if err != nil {
		t.Fatal(err)
	}
	again := deb{version: "v0.0.0-abc1234-dirty", arch: "arm64", maintainer: "Tare <tare@example.org>", binary: filepath.Join(dir, "linux-arm64"), man: filepath.Join(dir, "man")}
	if err := again.write(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("built again, it has other bytes: %d and %d, %v", len(first), len(second), err)
	}
}

func TestDebianVersionsAreOrdered(t *testing.T) {
	versions := []string{"v0.0.0-abc1234", "v1.0.0-alpha", "v1.0.0-rc.1", "v1.0.0", "v1.0.0-3-gabc", "v1.0.0-3-gabc-dirty", "v1.0.1"}
	for i, v := range versions[1:] {
		before, after := debianVersion(versions[i]), debianVersion(v)
		if err := exec.Command("dpkg", "--compare-versions", before, "lt", after).Run(); err != nil {
			t.Errorf("dpkg does not take %s for older than %s", before, after)
		}
	}
}
