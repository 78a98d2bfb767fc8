package owned

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ownMounts gives the test a mount namespace of its own.
func ownMounts(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skip("only root may mount:", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A tree is removed with everything in it. Of a link, only the link itself is removed.
func TestRemove(t *testing.T) {
	dir := t.TempDir()
	kept := write(t, filepath.Join(dir, "kept", "data"))
	tree := filepath.Join(dir, "tree")
	write(t, filepath.Join(tree, strings.Repeat("d/", 200), "file"))
	for name, to := range map[string]string{"link": filepath.Dir(kept), "dangling": "nowhere", "d/up": ".."} {
		if err := os.Symlink(to, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(tree, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // that is not there is no error
		if err := Remove(tree); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Error("the tree is there still:", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Dir(kept), link); err != nil {
		t.Fatal(err)
	}
	if err := Remove(link); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
}

// A mount in a tree is unmounted, and the mounted files stay.
func TestRemoveUnmounts(t *testing.T) {
	ownMounts(t)
	dir := t.TempDir()
	for _, name := range []string{"plain", "with blank", "deep/er"} {
		victim := write(t, filepath.Join(dir, "victim", name, "data"))
		tree := filepath.Join(dir, "tree")
		at := filepath.Join(tree, name)
		for range 2 { // two mounts, one above the other
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount(filepath.Dir(victim), at, "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
		}
		file := write(t, filepath.Join(tree, "file"))
		if err := unix.Mount(victim, file, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		if err := Remove(tree); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(tree); !os.IsNotExist(err) {
			t.Error("the tree is there still:", err)
		}
		if _, err := os.Stat(victim); err != nil {
			t.Error(err)
		}
	}
}

// Mounts and files that cannot be removed stay, and the error names them; everything else is removed.
func TestRemoveLeaves(t *testing.T) {
	ownMounts(t)
	dir := t.TempDir()
	victim := write(t, filepath.Join(dir, "victim", "data"))
	tree := filepath.Join(dir, "tree")
	at := filepath.Join(tree, "bound")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(filepath.Dir(victim), at, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	other := write(t, filepath.Join(tree, "other", "file"))
	in, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := &remover{}
	if r.mount, err = mountOf(in); err != nil {
		t.Fatal(err)
	}
	r.remove(in, "tree", tree)
	if len(r.errs) != 1 || !strings.Contains(r.errs[0].Error(), at+": another file system") {
		t.Errorf("left %v", r.errs)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(other); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := Remove(tree); err != nil {
		t.Error(err)
	}
	stuck := write(t, filepath.Join(tree, "a", "stuck"))
	write(t, filepath.Join(tree, "b", "file"))
	if out, err := exec.Command("chattr", "+i", stuck).CombinedOutput(); err != nil {
		t.Skipf("no immutable files here: %v: %s", err, out)
	}
	err = Remove(tree)
	if out, undo := exec.Command("chattr", "-i", stuck).CombinedOutput(); undo != nil {
		t.Fatalf("%v: %s", undo, out)
	}
	if err == nil || !strings.Contains(err.Error(), stuck) || strings.Contains(err.Error(), "b/file") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(tree, "b")); !os.IsNotExist(err) {
		t.Error(err)
	}
}
