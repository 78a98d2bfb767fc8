package columns

import (
	"slices"
	"testing"
)

func TestShorten(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"pod-to-service", 9, "pod-…vice"},
		{"日本語の名前", 7, "日…前"},
		{"abc", 2, "ab"},
	}
	for _, tt := range tests {
		if got := Shorten(tt.in, tt.n, "…"); got != tt.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestAbbreviateKeepsNamesApart(t *testing.T) {
	got := Abbreviate([]string{"a-layer-with-a-long-name[rules=1,kind=file]", "a-layer-with-a-long-name[rules=16,kind=file]", "b"}, 20)
	seen := map[string]string{}
	for name, short := range got {
		if Width(short) > 20 {
			t.Errorf("%q is longer than 20", short)
		}
		if other, ok := seen[short]; ok {
			t.Errorf("%q and %q are both %q", name, other, short)
		}
		seen[short] = name
	}
	if got["b"] != "b" {
		t.Errorf("b became %q", got["b"])
	}
}

// Words stay whole, so that they can be copied; no-break spaces hold.
func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  []string
	}{
		{"one two three", 8, []string{"one two", "three"}},
		{"network.tcp.pod-to-pod --all", 22, []string{"network.tcp.pod-to-pod", "--all"}},
		{"takes 12.5\u00a0ms here", 11, []string{"takes", "12.5 ms", "here"}},
		{"pneumonoultramicroscopic x", 10, []string{"pneumonoul", "tramicrosc", "opic x"}},
		{"日本語の名前です よ", 8, []string{"日本語の", "名前です", "よ"}},
		{"e\u0301e\u0301e\u0301 e\u0301e\u0301e\u0301e\u0301e\u0301", 8, []string{"e\u0301e\u0301e\u0301", "e\u0301e\u0301e\u0301e\u0301e\u0301"}},
		{"", 10, nil},
	} {
		got := Wrap(tt.in, tt.width)
		if !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func FuzzColumns(f *testing.F) {
	for _, s := range []string{"a", "日本", "e\u0301", "👩‍👩‍👧", "\xff", "a b  c", "\u00a0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, l := range Wrap(in, 20) {
			if Width(l) > 21 {
				t.Fatalf("Wrap gave a line of %d columns: %q", Width(l), l)
			}
		}
		if s := Shorten(in, 7, Ellipsis); Width(s) > 7 {
			t.Fatalf("Shorten(%q) = %q", in, s)
		}
	})
}
