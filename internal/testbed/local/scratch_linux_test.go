package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
)

// A site has one scratch directory, which is open to everybody and removed with the site. If this process is killed,
// the directory's name makes tare clean remove it.
func TestScratch(t *testing.T) {
	bed, site := opened(t, experiment.Needs{}, nil)
	scratch, ok := testbed.As[testbed.Scratch](site)
	if !ok {
		t.Fatal("there is none")
	}
	dir, err := scratch.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := scratch.Scratch(); err != nil || again != dir {
		t.Errorf("%s, then %s (%v)", dir, again, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if o, what, _ := owned.Of(filepath.Base(dir)); what != volumeKind || o != bed.owner || !strings.HasPrefix(dir, os.TempDir()) {
		t.Errorf("%s is %v's", dir, o)
	}
	if err := bed.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Memory that a process and its children share is counted once.
func TestProportional(t *testing.T) {
	site := openHost(t)
	said, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = said.Close() }()
	const text = `x=$(head -c 16777216 /dev/zero | tr '\0' x); for i in 1 2 3; do (echo up; while :; do sleep 1000; done) & done; wait`
	p := begin(t, site, testbed.Command{Args: []string{"sh", "-c", text}, Stdout: to})
	_ = to.Close()
	for range 9 { // "up\n" of each of three
		if _, err := said.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	shared, ok := testbed.ProcessAs[testbed.Proportional](p)
	if !ok {
		t.Fatal("it does not tell")
	}
	parts, err := shared.Proportional()
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if parts < 16<<20 || all < 4*16<<20 || parts > all/2 {
		t.Errorf("%d bytes in parts, %d resident", parts, all)
	}
	if timed, ok := testbed.ProcessAs[testbed.Timed](p); !ok || timed.Begun().IsZero() {
		t.Error("nobody knows when it was forked")
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	if parts, err := shared.Proportional(); err != nil || parts != 0 {
		t.Errorf("after its end: %d, %v", parts, err)
	}
}

// Files that a program bind-mounts below the directory stay unchanged, when the site ends and when its Tare is
// killed.
func TestScratchOfBinds(t *testing.T) {
	if os.Geteuid() != 0 || NeedsUserNamespace() {
		t.Skip("needs root")
	}
	victim := filepath.Join(t.TempDir(), "data")
	must(t, os.WriteFile(victim, []byte("the user's"), 0o644))
	bed, site := opened(t, experiment.Needs{}, nil)
	scratch, _ := testbed.As[testbed.Scratch](site)
	dir, err := scratch.Scratch()
	must(t, err)
	_, err = testbed.Output(t.Context(), site, testbed.Host, "sh", "-c", `mkdir "$1/root" && mount --bind "$0" "$1/root"`, filepath.Dir(victim), dir)
	if err != nil {
		t.Skip("nothing can be mounted here:", err)
	}
	must(t, bed.Close())
	if text, err := os.ReadFile(victim); err != nil || len(text) == 0 {
		t.Errorf("the user's file: %q, %v", text, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
