package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed is a package's tar archive.
func packed(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		content := []byte("content of " + h.Name)
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestRead(t *testing.T) {
	got, err := Read(packed(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "./bin/", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeReg, Name: "./bin/tool", Mode: 0o4755},
		tar.Header{Typeflag: tar.TypeLink, Name: "./usr/bin/same", Linkname: "./bin/tool"},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "./lib/libx.so.1", Linkname: "libx.so.1.2"},
	))
	if err != nil {
		t.Fatal(err)
	}
	tool := File{Mode: 0o755 | fs.ModeSetuid, Content: []byte("content of ./bin/tool")}
	want := Tree{
		"/usr/bin/tool":      tool,
		"/usr/bin/same":      tool,
		"/usr/lib/libx.so.1": {Mode: fs.ModeSymlink | 0o777, Target: "libx.so.1.2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, test := range []struct {
		header tar.Header
		want   string
	}{
		{tar.Header{Typeflag: tar.TypeLink, Name: "./a", Linkname: "./b"}, "/a is a hard link to ./b, which does not come before it"},
		{tar.Header{Typeflag: tar.TypeFifo, Name: "./a"}, "/a is of the type '6', which images of packages have no use for"},
	} {
		if _, err := Read(packed(t, test.header)); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// TestReadStaysInside checks that no name leads out of the tree.
func TestReadStaysInside(t *testing.T) {
	got, err := Read(packed(t, tar.Header{Typeflag: tar.TypeReg, Name: "../../etc/shadow", Mode: 0o644}))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got["/etc/shadow"]; !ok || len(got) != 1 {
		t.Errorf("got %v, want /etc/shadow of the tree", got)
	}
}

func TestTake(t *testing.T) {
	link := func(target string) File { return File{Mode: fs.ModeSymlink | 0o777, Target: target} }
	from := Tree{
		"/usr/lib/x/libx.so.1":   link("libx.so.1.2"),
		"/usr/lib/x/libx.so.1.2": {Mode: 0o644, Content: []byte("x")},
		"/usr/lib64/ld.so":       link("/lib/x/libx.so.1"),
		"/loop":                  link("loop"),
		"/dangling":              link("nothing"),
	}
	got := Tree{}
	end, err := got.Take(from, "/lib64/ld.so")
	if err != nil || end != "/usr/lib/x/libx.so.1.2" || len(got) != 3 {
		t.Errorf("Take ends at %s, %v, with %v; want the file and two links", end, err, got)
	}
	for name, want := range map[string]string{
		"/loop": "/loop: too many links", "/dangling": "/nothing is in none of the packages", "/no": "/no is in none of the packages",
	} {
		if _, err := (Tree{}).Take(from, name); err == nil || err.Error() != want {
			t.Errorf("Take(%s): %v, want %s", name, err, want)
		}
	}
}

// example has one of every kind.
func example() Tree {
	t := New()
	t["/usr/bin/tool"] = File{Mode: 0o755, Content: []byte("tool")}
	t["/etc/passwd"] = File{Mode: 0o644, Content: []byte("root")}
	t["/tmp"] = File{Mode: fs.ModeDir | fs.ModeSticky | 0o777}
	return t
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := example().Write(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(out.Bytes())); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %04o %s%s", h.Name, h.Mode, h.Linkname, content)))
	}
	want := []string{
		"bin 0777 usr/bin", "etc/ 0755", "etc/passwd 0644 root", "lib 0777 usr/lib", "lib64 0777 usr/lib64",
		"sbin 0777 usr/sbin", "tmp/ 1777", "usr/ 0755", "usr/bin/ 0755", "usr/bin/tool 0755 tool",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var again bytes.Buffer
	if err := example().Write(&again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("the same tree gives other bytes (%v)", err)
	}
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if err := example().Install(dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "bin/tool"))
	if err != nil || string(content) != "tool" {
		t.Errorf("bin/tool is %q, %v", content, err)
	}
	for name, want := range map[string]fs.FileMode{
		"tmp": fs.ModeDir | fs.ModeSticky | 0o777, "usr/bin/tool": 0o755, "etc": fs.ModeDir | 0o755,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
}

// TestTakeProgram takes iperf3 out of the files of this machine that ldd names.
func TestTakeProgram(t *testing.T) {
	program, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip(err)
	}
	ldd, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	from := Tree{}
	for _, word := range append(strings.Fields(string(ldd)), program) {
		if !filepath.IsAbs(word) {
			continue
		}
		content, err := os.ReadFile(word)
		if err != nil {
			t.Fatal(err)
		}
		from[Canonical(word)] = File{Mode: 0o755, Content: content}
	}
	from["/usr/bin/other"] = File{Mode: 0o755, Content: []byte("other")}

	got := Tree{}
	if err := got.TakeProgram(from, program, runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	delete(from, "/usr/bin/other")
	want, taken := slices.Sorted(maps.Keys(from)), slices.Sorted(maps.Keys(got))
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Errorf("taken is not what ldd says (-ldd +taken):\n%s", diff)
	}

	for name := range got {
		if !strings.Contains(name, "libm.so") {
			continue
		}
		delete(from, name)
		want := "needs libm.so.6, which is in none of the packages (in /usr/lib/"
		if err := (Tree{}).TakeProgram(from, program, runtime.GOARCH); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without the library: %v, want %s", err, want)
		}
	}
	if err := (Tree{}).TakeProgram(from, program, "vax"); err == nil || err.Error() != "no directory of libraries is known for the architecture vax" {
		t.Errorf("got %v", err)
	}
	if err := (Tree{}).TakeProgram(Tree{"/usr/bin/script": {Content: []byte("#!/bin/sh\nexec true, a longer line\n")}}, "/usr/bin/script", runtime.GOARCH); err == nil ||
		!strings.HasPrefix(err.Error(), "/usr/bin/script: bad magic number") {
		t.Errorf("a script: %v", err)
	}
}
