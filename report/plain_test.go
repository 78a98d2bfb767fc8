package report

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"ordinary", "pod-to-pod µs", "pod-to-pod µs"},
		{"colour", "a\x1b[1;31mred\x1b[0mb", "aredb"},
		{"title and link", "a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"},
		{"8-bit sequences", "a\u009b31mb\u009d0;t\u009cc", "abc"},
		{"unfinished sequence", "a\x1b[", "a"},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"lines", "a\r\nb\tc\vd\u2028e", "a b c d e"},
		{"overwriting", "good\rbad\bx", "good badx"},
		{"direction", "a\u202egnp.exe\u2066b\u200b", "agnp.exeb"},
		{"invalid bytes", "a\xff\xfeb", "a\uFFFDb"},
		{"null", "a\x00b", "ab"},
	}
	for _, tt := range tests {
		if got := plain(tt.in); got != tt.want {
			t.Errorf("%s: plain(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestPlainLinesKeepsLines(t *testing.T) {
	if got, want := plainLines("a: 1\r\n\tb: \x1b[31m2\n"), "a: 1\n\tb: 2\n"; got != want {
		t.Errorf("plainLines = %q, want %q", got, want)
	}
}

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

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "\x1b]0;x\x07", "\x9b1m", "a\nb", "\xff", "\u202e", "\x1b\x1b[[m", "|`<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := plain(in)
		if !utf8.ValidString(out) {
			t.Fatalf("plain(%q) = %q is not UTF-8", in, out)
		}
		for _, r := range out {
			if unicode.IsControl(r) || hidden(r) {
				t.Fatalf("plain(%q) = %q holds %U", in, out, r)
			}
		}
		if again := plain(out); again != out {
			t.Fatalf("plain is not stable: %q, then %q", out, again)
		}
		if e := escape(in); strings.ContainsAny(e, `<>"'`) {
			t.Fatalf("escape(%q) = %q", in, e)
		}
		for _, l := range wrap(in, 20) {
			if cells(l) > 21 {
				t.Fatalf("wrap gave a line of %d columns: %q", cells(l), l)
			}
		}
		if s := shorten(out, 7, "…"); cells(s) > 7 {
			t.Fatalf("shorten(%q) = %q", out, s)
		}
	})
}
