package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
)

// Files that the experiment names are read back under their names as written, and never from outside of the run.
func TestNamedFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	files := map[string][]byte{"deny.yaml": []byte("a\n"), "../policies/deny.yaml": []byte("b\n"), "/etc/passwd": []byte("c\n"), "100%2F.yaml": nil}
	j, err := Create(dir, []byte(file), files, plan(), environment())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	read := ReadNamed(dir)
	for name, want := range files {
		if got, err := read(name); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "files", "..%2Fpolicies%2Fdeny.yaml")); err != nil || string(text) != "b\n" {
		t.Errorf("the file in the run directory: %q, %v", text, err)
	}
	if _, err := read("other.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was not kept: %v", err)
	}
}

func TestNamedFilesThatAreHostile(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	for path, data := range map[string]string{outside: "secret", filepath.Join(dir, "files", "big.yaml"): strings.Repeat("#", experiment.MaxFile+1)} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(data), 0o600))
	}
	must(t, os.Symlink(outside, filepath.Join(dir, "files", "link.yaml")))
	for name, want := range map[string]string{
		"big.yaml":  "files/big.yaml has more than 256 KiB",
		"link.yaml": "escapes",
		"..":        ". is not a file",
		".":         "files is not a file",
	} {
		if data, err := ReadNamed(dir)(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %s", name, data, err, want)
		}
	}
}
