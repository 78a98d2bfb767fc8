package residency

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLook writes a file and finds it in the page cache by both system calls. After the file is dropped, it does not
// find it.
func TestLook(t *testing.T) {
	const size = 4 << 20
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	var kind unix.Statfs_t
	if err := unix.Statfs(dir, &kind); err == nil && kind.Type == unix.TMPFS_MAGIC {
		t.Skip("files are only in memory here (tmpfs)")
	}
	ask := func(o Request) file {
		t.Helper()
		r, err := look(t.Context(), o)
		if err != nil || len(r.Files) != 1 {
			t.Fatalf("%+v: %v", r, err)
		}
		if r.Files[0].Path != name || r.Files[0].Size != size {
			t.Errorf("%+v", r.Files[0])
		}
		return r.Most()
	}
	if got := ask(Request{Paths: []string{dir}}); got.Cached != size {
		t.Errorf("written: %+v", got)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if cached, err := mincore(f, size); err != nil || cached != size {
		t.Errorf("mincore: %d, %v", cached, err)
	}
	if got := ask(Request{Paths: []string{name}, Drop: true}); got.Cached != 0 {
		t.Errorf("dropped: %+v", got)
	}
	if cached, err := mincore(f, size); err != nil || cached != 0 {
		t.Errorf("mincore of what was dropped: %d, %v", cached, err)
	}
	if _, err := f.ReadAt(make([]byte, 1), size/2); err != nil {
		t.Fatal(err)
	}
	if got := ask(Request{Paths: []string{name}}); got.Cached == 0 || got.Cached >= size {
		t.Errorf("read in part: %+v", got)
	}
	if _, err := look(t.Context(), Request{Paths: []string{filepath.Join(dir, "none")}}); err == nil {
		t.Error("a file that is not there is looked at")
	}
}
