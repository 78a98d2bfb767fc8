package debian

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mirror is a repository in a directory, with packages that hold one file each.
func mirror(t *testing.T, packages ...Package) (sources string) {
	t.Helper()
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	var index strings.Builder
	for _, p := range packages {
		root := filepath.Join(dir, "build-"+p.Name)
		control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: tests <tests@example.org>\n", p.Name, p.Version, p.Arch)
		if p.Name == "program" {
			control += "Depends: library\n"
		}
		control += "Description: for a test\n Version: 0 is not this one's\n"
		for name, content := range map[string]string{"DEBIAN/control": control, "usr/share/" + p.Name: "of " + p.String()} {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		deb := filepath.Join(dir, p.Name+".deb")
		if out, err := exec.Command("dpkg-deb", "--build", "--root-owner-group", root, deb).CombinedOutput(); err != nil {
			t.Fatalf("dpkg-deb: %v: %s", err, out)
		}
		content, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&index, "%sFilename: ./%s.deb\nSize: %d\nSHA256: %x\n\n", control, p.Name, len(content), sha256.Sum256(content))
	}
	if err := os.WriteFile(filepath.Join(dir, "Packages"), []byte(index.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("deb [trusted=yes] copy:%s ./\n", dir)
}

func TestApt(t *testing.T) {
	program := Package{Arch: "arm64", Name: "program", Version: "1:2.0-1"}
	library := Package{Arch: "arm64", Name: "library", Version: "3"}
	sources := mirror(t, program, library, Package{Arch: "arm64", Name: "unrelated", Version: "1"})
	before := aptState(t)
	apt, err := Open(t.Context(), sources, "arm64", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := apt.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(apt.dir); !os.IsNotExist(err) {
			t.Errorf("%s is left behind: %v", apt.dir, err)
		}
		if after := aptState(t); after != before {
			t.Errorf("the machine's apt has changed from\n%s\nto\n%s", before, after)
		}
	})

	files, err := apt.Newest(t.Context(), []string{"program"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, files, "library=3", "program=1:2.0-1")

	if files, err = apt.Pinned(t.Context(), []Package{program}); err != nil {
		t.Fatal(err)
	}
	check(t, files, "program=1:2.0-1")

	old := Package{Arch: "arm64", Name: "library", Version: "2"}
	_, err = apt.Pinned(t.Context(), []Package{program, old})
	var gone *GoneError
	if !errors.As(err, &gone) || !slices.Equal(gone.Packages, []Package{old}) {
		t.Errorf("got %v, want that library=2 is gone", err)
	}
	if want := "Debian's mirror no longer has these versions: [library=2]"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if _, err := apt.Newest(t.Context(), []string{"nothing"}); err == nil || !strings.Contains(err.Error(), "Unable to locate package nothing") {
		t.Errorf("got %v, want apt's own words", err)
	}
}

// check reads the files and compares what is in them.
func check(t *testing.T, files []string, want ...string) {
	t.Helper()
	var got []string
	for _, file := range files {
		d, err := ReadDeb(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.String())
		if content := string(d.Files["/usr/share/"+d.Name].Content); content != "of "+d.String() {
			t.Errorf("%s holds %q", file, content)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("downloaded %v, want %v", got, want)
	}
}

func TestAptNoMirror(t *testing.T) {
	mirror(t) // for its skip
	_, err := Open(t.Context(), "deb [trusted=yes] file:/nonexistent ./\n", "amd64", io.Discard)
	if err == nil || !strings.Contains(err.Error(), "list of packages for amd64: apt-get update: exit status 100") || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("got %v", err)
	}
}

func TestReadDebRefuses(t *testing.T) {
	mirror(t)
	file := filepath.Join(t.TempDir(), "x.deb")
	if err := os.WriteFile(file, []byte("no package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDeb(t.Context(), file); err == nil || !strings.Contains(err.Error(), "dpkg-deb --field "+file) {
		t.Errorf("got %v", err)
	}
}

// aptState is the names, sizes and times of the machine's own lists and caches.
func aptState(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range []string{"/var/lib/apt/lists/*", "/var/cache/apt/*", "/var/cache/apt/archives/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&all, file, info.Size(), info.ModTime())
		}
	}
	return all.String()
}
