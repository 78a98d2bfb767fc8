package owned

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A name that only resembles Tare's names has no owner.
func TestOf(t *testing.T) {
	for _, name := range []string{"", "tare-volume-", "tare-volume-1", "tare-volume-1-2-3", "tare-volume-a-b-c-d", "tare-volume-0-1-1-5", "x-tare-volume-1-2-3-4", "tare-vol ume-1-2-3-4"} {
		if o, what, ok := Of(name); ok {
			t.Errorf("%q is %s of %v", name, what, o)
		}
	}
	if o, what, ok := Of("tare-volume-1-2-3-45"); !ok || what != "volume" || o != (Owner{1, 2, 3}) {
		t.Errorf("%v, %v, %v", o, what, ok)
	}
	if o, what, ok := Of(Owner{4, 5, 6}.Name("page") + "7.html"); !ok || what != "page" || o != (Owner{4, 5, 6}) {
		t.Errorf("%v, %v, %v", o, what, ok)
	}
}

// An owner whose process id another process has now counts as dead. An owner in another process id namespace counts
// as alive, unless this process sees all namespaces.
func TestOrphaned(t *testing.T) {
	self, err := This()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		owner Owner
		want  bool
	}{
		{"alive", self, false},
		{"id reused", Owner{self.pid, self.start + 1, self.namespace}, true},
		{"no such process", Owner{1 << 30, 5, self.namespace}, true},
		{"namespace of nobody", Owner{1 << 30, 5, 1}, self.namespace == initial && os.Geteuid() == 0},
	} {
		if got := c.owner.Orphaned(self); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// An owner from another namespace counts as alive, whatever its process id.
func TestOrphanedElsewhere(t *testing.T) {
	self, err := This()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "sh", "-c", "stat -Lc %i /proc/self/ns/pid_for_children; exec sleep 100")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	elsewhere := Owner{pid: 1 << 30, start: 5}
	if _, err := fmt.Fscan(out, &elsewhere.namespace); err != nil {
		t.Skip("no namespace here:", err)
	}
	if elsewhere.namespace == self.namespace || elsewhere.Orphaned(self) {
		t.Errorf("%v is dead", elsewhere)
	}
}

// Clean removes only what dead owners have left in the directories.
func TestClean(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	beside := t.TempDir()
	self, _ := This()
	dead := Owner{1 << 30, 5, self.namespace}
	living, err := Dir("", "volume")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, is := range map[string]bool{
		filepath.Join(os.TempDir(), dead.Name("fio")+"1"): true, filepath.Join(beside, dead.Name("page")+"2.html"): true,
		living: false, filepath.Join(os.TempDir(), "tare-fio-x"): false, filepath.Join(beside, "data"): false,
	} {
		if err := os.MkdirAll(filepath.Join(path, "a", "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		if is {
			want = append(want, path)
		}
	}
	failing := filepath.Join(os.TempDir(), dead.Name("gvisor")+"3")
	if err := os.Mkdir(failing, 0o755); err != nil {
		t.Fatal(err)
	}
	removed, err := Clean([]string{beside, beside, filepath.Join(beside, "missing")}, func(path string) error {
		if path == failing {
			return os.ErrPermission
		}
		return nil
	})
	removed = slices.DeleteFunc(removed, func(path string) bool { // /tmp may have things that other killed tests left
		return !strings.HasPrefix(path, os.TempDir()) && !strings.HasPrefix(path, beside)
	})
	slices.Sort(want)
	slices.Sort(removed)
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	if err == nil || !strings.Contains(err.Error(), os.ErrPermission.Error()) {
		t.Errorf("error %v", err)
	}
	for _, path := range want {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is there still: %v", path, err)
		}
	}
	for _, path := range []string{living, failing, filepath.Join(beside, "data", "a", "b")} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// These functions may be called only in the files that are listed here.
var onlyHere = map[string]struct {
	why string
	but []string
}{
	"RemoveAll": {"it crosses mounts: use owned.Remove", []string{"internal/run/machine/owned/owner_other.go"}},
	"Command": {"its descendants are nobody's: use testbed.Run, at local.Here", []string{
		"internal/testbed/process/", "internal/testbed/local/local_other.go", "internal/testbed/local/strays_linux.go", "internal/testbed/local/userns_linux.go",
		"internal/testbed/local/probe_linux.go", "internal/testbed/local/loop_linux.go", "internal/workload/syscalls/helper_linux.go", // which end at once and start nothing
		"internal/layer/wrapper/look_linux.go", "internal/workload/startup/firstbyte/", // are under test themselves
		"internal/testbed/kube/kubetest/", "internal/test/", "hack/deploy/", // are no part of the product
	}},
}

// Only the function Remove removes trees, and only the keeper of processes starts programs.
func TestOnlyHere(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if _, module := os.Stat(filepath.Join(path, "go.mod")); d.IsDir() && path != "../../../.." && (module == nil || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir // tools to build with have modules of their own
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := strings.TrimSuffix(s.Sel.Name, "Context")
			if x, isName := s.X.(*ast.Ident); name == "Command" && (!isName || x.Name != "exec") {
				return true
			}
			rule, ok := onlyHere[name]
			if ok && !slices.ContainsFunc(rule.but, func(but string) bool { return strings.HasPrefix(path, "../../../../"+but) }) {
				t.Errorf("%s calls %s: %s", path, s.Sel.Name, rule.why)
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}
