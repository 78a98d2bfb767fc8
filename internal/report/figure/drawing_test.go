package figure

import (
	"strings"
	"testing"
)

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "a\nb", "\xff", "\u202e", "|`<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if e := escape(in); strings.ContainsAny(e, `<>"'`) {
			t.Fatalf("escape(%q) = %q", in, e)
		}
	})
}
