package cluster

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestClaim(t *testing.T) {
	base := t.TempDir()
	slots := map[int]string{}
	for _, name := range []string{"a", "b", "c"} {
		c, err := New(name, base, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.claim("/bin")
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := slots[r.Slot]; taken {
			t.Errorf("%s and %s have slot %d", name, other, r.Slot)
		}
		slots[r.Slot] = name
		if read, err := c.read(); err != nil || !reflect.DeepEqual(read, r) {
			t.Errorf("recorded %+v, %v; want %+v", read, err, r)
		}
		if _, err := c.claim("/bin"); err == nil {
			t.Errorf("%s was claimed twice", name)
		}
	}
}

func TestLock(t *testing.T) {
	base := filepath.Join(t.TempDir(), "clusters")
	c, err := New("a", base, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.lock(); err == nil || !strings.Contains(err.Error(), "cluster a is being changed by another command") {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	if _, err := os.Stat(base); !os.IsNotExist(err) {
		t.Errorf("the empty base directory is left: %v", err)
	}
}

func TestNames(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "test": true, "t1-b": true, strings.Repeat("x", 20): true,
		"": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false, strings.Repeat("x", 21): false,
	} {
		if _, err := New(name, "/nowhere", io.Discard); (err == nil) != valid {
			t.Errorf("%q: %v, want valid: %v", name, err, valid)
		}
	}
}

func TestKubernetesFlags(t *testing.T) {
	flags, err := kubernetesFlags("../kk/go.mod")
	if err != nil || len(flags) != 1 || !strings.Contains(flags[0], ".gitVersion=v1.") || !strings.Contains(flags[0], ".gitMajor=1 ") {
		t.Errorf("got %q, %v", flags, err)
	}
	empty := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(empty, []byte("module x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetesFlags(empty); err == nil || !strings.Contains(err.Error(), "requires no version of k8s.io/kubernetes") {
		t.Errorf("without Kubernetes: %v", err)
	}
	if _, err := kubernetesFlags("/nowhere/go.mod"); err == nil || !strings.Contains(err.Error(), "--source") {
		t.Errorf("without sources: %v", err)
	}
}

// TestRequirements: what Check asks for, the script beside this program installs.
func TestRequirements(t *testing.T) {
	script, err := os.ReadFile("../install")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if p.pkg != "libc-bin" && !strings.Contains(string(script), " "+p.pkg+"\n") { // libc-bin is always there
			t.Errorf("install does not install %s for %s", p.pkg, p.name)
		}
	}
}
