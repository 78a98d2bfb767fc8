package bpf

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/test/golden"
)

// The last rule matches the prober's action, and no two rules are the same.
func TestUnused(t *testing.T) {
	for _, m := range []Mismatch{Early, Late} {
		for _, n := range []int{0, 1, 2, Most} {
			four, six, try := Unused(n, m)
			if len(four) != n || len(six) != n {
				t.Fatalf("%d rules, and %d", len(four), len(six))
			}
			seen := map[ConnectRule]bool{}
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

// TestBuilt checks that the objects are up to date with their sources.
func TestBuilt(t *testing.T) {
	golden.Built(t, "programs", "bpf", "build", "rules.h", "connect.c", "lsm.c", "connect.o", "lsm.o")
}
