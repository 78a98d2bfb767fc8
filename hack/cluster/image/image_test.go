package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/hack/image/tree"
)

func TestCached(t *testing.T) {
	dir := t.TempDir()
	img := Image{
		Reference: "tare.test/try:1",
		Files: tree.Tree{
			"/usr/bin/tool": {Mode: 0o755, Content: []byte("tool")},
			"/bin/sh":       {Mode: fs.ModeSymlink | 0o777, Target: "busybox"},
			"/tmp":          {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		},
		Entrypoint: []string{"/bin/sh"},
		User:       "1337:1337",
	}
	file, err := img.Cached(dir)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := read.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || !slices.Equal(config.Config.Entrypoint, img.Entrypoint) || config.Config.User != img.User {
		t.Errorf("config is %+v", config)
	}
	layers, err := read.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v; want 1", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	got := list(t, content)
	want := []string{
		"bin/ 0755", "bin/sh 0777 -> busybox", "tmp/ 1777", "usr/ 0755", "usr/bin/ 0755", "usr/bin/tool 0755 tool",
	}
	if !slices.Equal(got, want) {
		t.Errorf("layer has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	if again, err := img.Cached(dir); err != nil || again != file {
		t.Errorf("the same image is in %s (%v), want %s", again, err, file)
	}
	img.Files["/usr/bin/tool"] = tree.File{Mode: 0o755, Content: []byte("tool, changed")}
	if changed, err := img.Cached(dir); err != nil || changed == file {
		t.Errorf("a changed image is in %s (%v), as before", changed, err)
	}
	img.User = ""
	if root, err := img.Cached(dir); err != nil || root == file {
		t.Errorf("the image of another user is in %s (%v), as before", root, err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 3 {
		t.Errorf("the cache has %q, %v; want three images", files, err)
	}
}

func list(t *testing.T, layer io.Reader) []string {
	t.Helper()
	var entries []string
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s belongs to %d:%d and is of %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		entry := fmt.Sprintf("%s %04o", h.Name, h.Mode)
		if h.Linkname != "" {
			entry += " -> " + h.Linkname
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > 0 {
			entry += " " + string(content)
		}
		entries = append(entries, entry)
	}
}

func TestBadReference(t *testing.T) {
	if _, err := (Image{Reference: "Not A Name"}).Cached(t.TempDir()); err == nil || !strings.Contains(err.Error(), "Not A Name") {
		t.Errorf("got %v", err)
	}
}

func TestTools(t *testing.T) {
	for _, tool := range []string{"busybox", "iperf3", "fio"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	img, err := Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/bin/sh", "/usr/bin/iperf3", "/usr/bin/fio", "/etc/passwd"} {
		if _, ok := img.Files[want]; !ok {
			t.Errorf("%s is missing", want)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(img.Files)), func(name string) bool { return strings.HasPrefix(filepath.Base(name), "libc.so") }) {
		t.Error("the C library is missing, which iperf3 and fio need")
	}
}
