package kube

import (
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestSiteName(t *testing.T) {
	tests := []struct{ arm, want string }{
		{"plain", "tare-0123456789-7-plain"},
		{"seccomp[rules=8]", "tare-0123456789-7-seccomp-rules-8"},
		{"--", "tare-0123456789-7"},
		{"Ünïcode\x1b[31m", "tare-0123456789-7-n-code-31m"},
		{strings.Repeat("long", 30), "tare-0123456789-7-" + strings.Repeat("long", 12)[:45]},
		{strings.Repeat("a", 44) + "-b", "tare-0123456789-7-" + strings.Repeat("a", 44)},
	}
	for _, tt := range tests {
		if got := siteName("0123456789", 7, tt.arm); got != tt.want || len(validation.IsDNS1123Label(got)) > 0 {
			t.Errorf("siteName(%q) = %q, want %q", tt.arm, got, tt.want)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("seccomp[rules=8]", "\x1b]0;title\x07\u202e")
	f.Fuzz(func(t *testing.T, name, text string) {
		if l := label(name, nameLimit); l != "" && len(validation.IsDNS1123Label(l)) > 0 {
			t.Errorf("label(%q) = %q is no DNS label", name, l)
		}
		if s := siteName(newOwner(), 1, name); len(validation.IsDNS1123Label(s)) > 0 {
			t.Errorf("siteName of %q = %q is no DNS label", name, s)
		}
		p := printable(text, 50)
		if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) || len(p) > 50+10+3 {
			t.Errorf("printable(%q) = %q", text, p)
		}
	})
}
