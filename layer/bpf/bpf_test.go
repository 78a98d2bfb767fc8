package bpf

import (
	"fmt"
	"strings"
	"testing"

	"tare/golden"
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

// TestBuilt: the objects are those that the sources give.
func TestBuilt(t *testing.T) {
	golden.Built(t, "programs", "bpf", "build", "rules.h", "connect.c", "lsm.c", "connect.o", "lsm.o")
}
