package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowsFitTheTerminal(t *testing.T) {
	table := [][]string{{"NAME", "STATUS", "DETAIL"}, {"wireguard", "works", "in the kernel or beside it, whatever there is"}, {"µ", "refused", ""}}
	for width, want := range map[int]string{
		0: `  NAME       STATUS   DETAIL
  wireguard  works    in the kernel or beside it, whatever there is
  µ          refused
`,
		200: `  NAME       STATUS   DETAIL
  wireguard  works    in the kernel or beside it, whatever there is
  µ          refused
`,
		44: `  NAME       STATUS   DETAIL
  wireguard  works    in the kernel or
                      beside it, whatever
                      there is
  µ          refused
`,
		40: `  NAME  STATUS
      DETAIL
  wireguard  works
      in the kernel or beside it,
      whatever there is
  µ  refused
`,
	} {
		var out bytes.Buffer
		lines{&out, width}.rows("  ", table)
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("%d columns (-want +got):\n%s", width, d)
		}
	}
	var out bytes.Buffer
	lines{&out, 40}.rows("", [][]string{{"plain", "baseline", "no layers"}})
	if out.String() != "plain  baseline  no layers\n" {
		t.Errorf("what fits is %q", out.String())
	}
}
