package cluster

import (
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

func FuzzNames(f *testing.F) {
	f.Add("seccomp[rules=8]", "\x1b]0;title\x07\u202e")
	f.Fuzz(func(t *testing.T, name, text string) {
		if l := Label(name, NameLimit); l != "" && len(validation.IsDNS1123Label(l)) > 0 {
			t.Errorf("Label(%q) = %q is no DNS label", name, l)
		}
		p := Printable(text, 50)
		if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) || len(p) > 50+10+3 {
			t.Errorf("Printable(%q) = %q", text, p)
		}
	})
}
