package report

import (
	"strings"
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
		if got := shorten(tt.in, tt.n, "…"); got != tt.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestAbbreviateKeepsNamesApart(t *testing.T) {
	got := abbreviate([]string{"a-layer-with-a-long-name[rules=1,kind=file]", "a-layer-with-a-long-name[rules=16,kind=file]", "b"}, 20)
	seen := map[string]string{}
	for name, short := range got {
		if cells(short) > 20 {
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

func TestMarkdownEscapes(t *testing.T) {
	in := "a|b `c` <img src=x> [l](http://x) **b** _i_ & @user #1 \\\nnext"
	want := "a\\|b \\`c\\` &lt;img src=x&gt; \\[l\\](http&#58;//x) \\*\\*b\\*\\* \\_i\\_ &amp; &#64;user \\#1 \\\\ next"
	if got := md(in); got != want {
		t.Errorf("md = %q\nwant %q", got, want)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "a\nb", "\xff", "\u202e", "|`<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if e := escape(in); strings.ContainsAny(e, `<>"'`) {
			t.Fatalf("escape(%q) = %q", in, e)
		}
		for _, l := range wrap(in, 20) {
			if cells(l) > 21 {
				t.Fatalf("wrap gave a line of %d columns: %q", cells(l), l)
			}
		}
		if s := shorten(plain(in), 7, "…"); cells(s) > 7 {
			t.Fatalf("shorten(%q) = %q", in, s)
		}
	})
}
