package text

import (
	"strings"
	"testing"

	"tare/internal/report/columns"
)

// A number and its unit stay on one line.
func TestWrapKeepsQuantities(t *testing.T) {
	for width := 8; width < 60; width++ {
		for _, l := range columns.Wrap(tidy("hardly in another run (95 %) than 12.5 ms or 3 Gbit/s"), width) {
			if strings.HasSuffix(l, "95") || strings.HasSuffix(l, "12.5") || strings.HasSuffix(l, " 3") || strings.Contains(l, "\u00a0") {
				t.Errorf("at %d: %q", width, l)
			}
		}
	}
}
