package importer

import (
	"slices"
	"strings"
	"testing"
)

func TestNatural(t *testing.T) {
	want := []string{"a", "a1", "a1b", "a02", "a2", "a10", "a10/1", "a10/2", "a11", "ab", "b", "run-9.json", "run-10.json", "run-99999999999999999999999999.json"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, natural)
	if !slices.Equal(got, want) {
		t.Errorf("order: %s", strings.Join(got, " "))
	}
	if natural("a02", "a2") == 0 || natural("a02", "a2") != -natural("a2", "a02") || natural("x", "x") != 0 {
		t.Error("two names are taken for one, or their order depends on who asks")
	}
}

func FuzzNatural(f *testing.F) {
	f.Add("a1", "a01", "a2")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if natural(a, b) != -natural(b, a) || (natural(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: %d and %d", a, b, natural(a, b), natural(b, a))
		}
		if natural(a, b) < 0 && natural(b, c) < 0 && natural(a, c) >= 0 {
			t.Errorf("%q < %q < %q, but not the first before the last", a, b, c)
		}
	})
}

func TestMatchParts(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"**/x.json", "x.json", true},
		{"**/x.json", "a/b/x.json", true},
		{"a/**", "a/b/c", true},
		{"a/**/x-*.json", "a/x-1.json", true},
		{"a/**/b/*.json", "a/c/b/d/1.json", false},
		{"a/**/b/**/*.json", "a/c/b/d/1.json", true},
		{"**/**/**/x", "y", false},
		{"a/[0-9]/**", "a/1/z", true},
		{"a/[0-9]/**", "a/b/z", false},
	} {
		if got := matchParts(strings.Split(test.pattern, "/"), strings.Split(test.path, "/")); got != test.want {
			t.Errorf("%s matches %s: %v", test.pattern, test.path, got)
		}
	}
	// Matching many ** takes no longer than the product of the two lengths.
	many, long := strings.Repeat("**/", 200)+"x", strings.Repeat("a/", 2000)+"y"
	if matchParts(strings.Split(many, "/"), strings.Split(long, "/")) {
		t.Error("x matches y")
	}
}
