package safetext_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"tare/internal/text/safetext"
)

func TestLine(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"ordinary", "pod-to-pod µs", "pod-to-pod µs"},
		{"colour", "a\x1b[1;31mred\x1b[0mb", "aredb"},
		{"title and link", "a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c", "abc"},
		{"8-bit sequences", "a\u009b31mb\u009d0;t\u009cc", "abc"},
		{"unfinished sequence", "a\x1b[", "a"},
		{"short escapes", "a\x1b(Bb\x1bcd\x1b e", "abd e"},
		{"a string without an end hides nothing", "a\x1b]0;the rest", "a0;the rest"},
		{"8-bit string without an end", "a\u009d0;the rest", `a\u009d0;the rest`},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"lines", "a\r\nb\tc\vd\u2028e\u0085f", "a b c d e f"},
		{"overwriting", "good\rbad\bx", `good bad\u0008x`},
		{"direction", "a\u202egnp.exe\u2066b\u200f\u061c", `a\u202egnp.exe\u2066b\u200f\u061c`},
		{"without width", "a\u200bb\ufeffc\u2060d\u00ade\u034ff\u3164", `a\u200bb\ufeffc\u2060d\u00ade\u034ff\u3164`},
		{"joiners between letters that do not join", "pay\u200dpal\u200c", `pay\u200dpal\u200c`},
		{"tags", "x\U000e0041\U000e007f", `x\U000e0041\U000e007f`},
		{"noncharacters", "a\ufffe\ufdd0\U0001ffff", `a\ufffe\ufdd0\U0001ffff`},
		{"invalid bytes", "a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{"a lone surrogate", "a\xed\xa0\x80b", "a\uFFFD\uFFFD\uFFFDb"},
		{"null", "a\x00b\x7f", `a\u0000b\u007f`},
		{"selectors that carry data", "😀\U000e0100\U000e0101\ufe01", "😀\U000e0100" + `\U000e0101\ufe01`},
	} {
		if got := safetext.Line(test.in); got != test.want {
			t.Errorf("%s: Line(%q) = %q, want %q", test.name, test.in, got, test.want)
		}
		if test.in != test.want && safetext.Printable(test.in) {
			t.Errorf("%s: %q is called printable", test.name, test.in)
		}
	}
}

// What people write stays as it is.
func TestWritingStays(t *testing.T) {
	for _, text := range []string{
		"naïve café e\u0301\u0323", "Überlauf ±2 % −3 → 5 MiB", "Ελληνικά", "Русский", "עִבְרִית", "العربية", "می\u200cخواهم",
		"हिन्दी क्\u200dष", "ශ්\u200dරී", "ไทย", "ខ្មែរ", "日本語の名前", "한국어", "葛\U000e0101城", "٣\u0600",
		"👩🏽\u200d💻", "👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "🙂\u200d↔\ufe0f", "🇪🇺",
	} {
		if got := safetext.Line(text); got != text {
			t.Errorf("Line(%q) = %q", text, got)
		}
		if !safetext.Printable(text) {
			t.Errorf("%q is not called printable", text)
		}
		if got := written(t, false, strings.Split(text, "")...); got != text {
			t.Errorf("written character by character, %q is %q", text, got)
		}
	}
}

func TestLines(t *testing.T) {
	in, want := "a: 1\r\n\tb:  \x1b[31m2\n\u2028c\x1b", "a: 1\n\tb:  2\n\nc"
	if got := safetext.Lines(in); got != want {
		t.Errorf("Lines(%q) = %q, want %q", in, got, want)
	}
}

func TestBounds(t *testing.T) {
	for _, test := range []struct {
		in         string
		most       int
		head, tail string
	}{
		{"short", 5, "short", "short"},
		{"a\nlong one", 5, "a lon…", "…g one"},
		{"日本語の名前", 3, "日本語…", "…の名前"},
		{"a\u202eb", 20, `a\u202eb`, `a\u202eb`},
		{"👩\u200d💻👩\u200d💻", 2, "👩…", "…💻"},
		{"abcd", 0, "…", "…"},
	} {
		if got := safetext.Head(test.in, test.most); got != test.head {
			t.Errorf("Head(%q, %d) = %q, want %q", test.in, test.most, got, test.head)
		}
		if got := safetext.Tail(test.in, test.most); got != test.tail {
			t.Errorf("Tail(%q, %d) = %q, want %q", test.in, test.most, got, test.tail)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]bool{"a b": true, " a  b ": true, "": true, "a\tb": false, "a\u00a0b": false, "a\u2003b": false, "\ue000": true} {
		if got := safetext.Printable(text); got != want {
			t.Errorf("Printable(%q) = %v", text, got)
		}
	}
}

func TestWriterDropsNothing(t *testing.T) {
	for _, test := range []struct {
		name   string
		styled bool
		in     []string
		want   string
	}{
		{"text", false, []string{"a\n\tb\n"}, "a\n\tb\n"},
		{"a sequence", false, []string{"\x1b[31m\r\u009b2J\x07"}, `\u001b[31m\u000d\u009b2J\u0007`},
		{"a style", true, []string{"\x1b[1;31mred\x1b[0m\x1b[m"}, "\x1b[1;31mred\x1b[0m\x1b[m"},
		{"a style in pieces", true, []string{"a\x1b", "[1;3", "1mred"}, "a\x1b[1;31mred"},
		{"what is no style", true, []string{"\x1b[8mx\x1b[2J", "\x1b[1", "A\x1b"}, `\u001b[8mx\u001b[2J\u001b[1A\u001b`},
		{"a character in pieces", false, []string{"\xe2", "\x80", "\xae\xe2\x82", "\xac\xf0\x9f"}, `\u202e` + "€\uFFFD\uFFFD"},
		{"joiners in pieces", false, []string{"👩", "\u200d", "💻\u200d", "x\u200d"}, "👩\u200d💻" + `\u200dx\u200d`},
	} {
		if got := written(t, test.styled, test.in...); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func written(t *testing.T, styled bool, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := safetext.NewWriter(&out)
	w.Styled = styled
	for _, piece := range pieces {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A document says the same afterwards.
func TestJSON(t *testing.T) {
	value := map[string]string{"a\u202e": "\x1b[31m\u009b\x7f\U000e0041\u2028 <é> 👩\u200d💻 \n"}
	document, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	safe := safetext.JSON(document)
	unsafe(t, string(safe), "\n\t")
	var back map[string]string
	if err := json.Unmarshal(safe, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value, back); diff != "" {
		t.Error(diff)
	}
}

// unsafe fails on what the package promises to remove, as another list has it.
func unsafe(t *testing.T, text, but string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("%q is not UTF-8", text)
	}
	for _, r := range text {
		switch {
		case strings.ContainsRune(but, r):
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Noncharacter_Code_Point, r),
			r == 0x2028, r == 0x2029, r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
			t.Fatalf("%q holds %U", text, r)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "\x1b]0;x\x07", "\x9b1m", "a\nb", "\xff", "\u202e", "\x1b\x1b[[m", "👩\u200d💻", "\u200d\ufe0f\ufe0f", "\xed\xa0\x80"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, in string, at int) {
		line, lines := safetext.Line(in), safetext.Lines(in)
		unsafe(t, line, "")
		unsafe(t, lines, "\n\t")
		if again := safetext.Line(line); again != line {
			t.Fatalf("Line is not stable: %q, then %q", line, again)
		}
		if again := safetext.Lines(lines); again != lines {
			t.Fatalf("Lines is not stable: %q, then %q", lines, again)
		}
		if !safetext.Printable(line) {
			t.Fatalf("Line(%q) = %q is not printable", in, line)
		}
		most := max(at, 0) % 50
		for _, cut := range []string{safetext.Head(in, most), safetext.Tail(in, most)} {
			unsafe(t, cut, "")
			if utf8.RuneCountInString(cut) > most+1 || safetext.Line(cut) != cut {
				t.Fatalf("%q cut to %d is %q", in, most, cut)
			}
		}
		at = max(at, 0) % (len(in) + 1)
		whole := written(t, false, in)
		unsafe(t, whole, "\n\t")
		if pieces := written(t, false, in[:at], in[at:]); pieces != whole {
			t.Fatalf("in two pieces %q, in one %q", pieces, whole)
		}
		if styled := written(t, true, in[:at], in[at:]); styled != written(t, true, in) {
			t.Fatalf("in two pieces %q", styled)
		}
		if document, err := json.Marshal(in); err == nil {
			var back, want string
			if json.Unmarshal(document, &want) != nil || json.Unmarshal(safetext.JSON(document), &back) != nil || back != want {
				t.Fatalf("%q became %q", want, back)
			}
		}
	})
}
