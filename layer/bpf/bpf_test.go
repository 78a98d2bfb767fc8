package bpf

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The last rule is for what the prober tries, and each is for something else.
func TestUnused(t *testing.T) {
	for _, m := range []Mismatch{Early, Late} {
		for _, n := range []int{0, 1, 2, Most} {
			four, six, try := Unused(n, m)
			if len(four) != n || len(six) != n {
				t.Fatalf("%d rules, and %d", len(four), len(six))
			}
			seen := map[Place]bool{}
			for _, p := range append(four, six...) {
				if seen[p] || p.Prefix.Masked() != p.Prefix {
					t.Errorf("%v", p)
				}
				seen[p] = true
			}
			var port uint16
			if n > 0 {
				port = four[n-1].Port
			}
			if n > 0 && !strings.HasSuffix(try, fmt.Sprint(":", port)) {
				t.Errorf("%s is not of %v", try, four[n-1])
			}
		}
	}
}

var rebuild = flag.Bool("rebuild", false, "compile the programs again and compare")

// TestBuilt: the objects are those that the sources give.
func TestBuilt(t *testing.T) {
	record, err := os.ReadFile("programs/BUILT")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(record)) {
		sum, file, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok || len(sum) != 64 {
			continue
		}
		seen++
		text, err := os.ReadFile(filepath.Join("programs", file))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != sum {
			t.Errorf("%s has changed since it was compiled: run make bpf", file)
		}
	}
	if seen != 6 {
		t.Errorf("the record has %d files", seen)
	}
	if !*rebuild {
		return
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "programs/build", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, file := range []string{"BUILT", "connect.o", "lsm.o"} {
		want, err := os.ReadFile(filepath.Join("programs", file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is another one", file)
			if file == "BUILT" {
				t.Skip("by another compiler")
			}
		}
	}
}
