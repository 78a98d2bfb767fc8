// Package slow marks tests that programs, networks or simulations make slow. `make test` runs these tests.
package slow

import "testing"

// Test skips the test if tests run with -short, as in `make check`.
func Test(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test runs it")
	}
}
