package mask

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const (
	long  = "EMnY9tlicZLhCUJwnHBdHIyvNLVlRXFwF8JlMaLNy02K35uDNHfkf7J8Rszi0z4JxT3PzPmhDJEpQwL6dfTkKPcPKPt0jLy4LrGWuQbUf6vUULm4A2Aohhhv"
	signs = `Tr0ub4dor&3!x'y"z`
	wide  = "pässwörd-€-😀-lang"
	path  = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQ2"
	gaps  = "two  blanks\tand a tab"
)

// Programs write a value in many ways; each is masked, however the text is split.
func TestFolded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ value, text, want string }{
		{signs, `x=Tr0ub4dor%263!x%27y%22z&y=1`, `x=[masked: A]&y=1`}, // as a browser leaves the !
		{signs, `x=Tr0ub4dor%25263!x%2527y%2522z;`, `x=[masked: A];`}, // and again
		{signs, `x=Tr0ub4dor%263%21x'y%22z;`, `x=[masked: A];`},
		{"a secret of words", "q=a+secret+of+words&z", "q=[masked: A]&z"},
		{signs, `{"a":"Tr0ub4dor\u00263!x'y\"z"}`, `{"a":"[masked: A]"}`},
		{signs, `"{\"a\":\"Tr0ub4dor&3!x'y\\\"z\"}"`, `"{\"a\":\"[masked: A]\"}"`}, // JSON in JSON
		{signs, `echo 'Tr0ub4dor&3!x'"'"'y"z';`, `echo '[masked: A]';`},
		{signs, `Tr0ub4dor\&3\!x\'y\"z;`, `[masked: A];`},
		{signs, `<a b="Tr0ub4dor&amp;3!x&#39;y&#34;z"/>`, `<a b="[masked: A]"/>`},
		{path, `"wJalrXUtnFEMI\/K7MDENG\/bPxRfiCYQ2"`, `"[masked: A]"`},
		{wide, `"p\u00e4ssw\u00F6rd-\u20ac-\ud83d\ude00-lang"`, `"[masked: A]"`},
		{wide, `"p\\u00e4ssw\\u00f6rd-\\u20ac-\\ud83d\\ude00-lang"`, `"[masked: A]"`},
		{wide, `$'p\303\244ssw\303\266rd-\342\202\254-\360\237\230\200-lang'`, `$'[masked: A]'`},
		{wide, `b'p\xc3\xa4ssw\xc3\xb6rd-\xe2\x82\xac-\xf0\x9f\x98\x80-lang'`, `b'[masked: A]'`},
		{gaps, "run --with two blanks and a tab -x", "run --with [masked: A] -x"},
		{gaps, "run --with two blanks and a", "run --with [masked: A]"},
		{gaps, `"two  blanks\tand a tab"`, `"[masked: A]"`},
		{gaps, "two  blanks\tand\n a  tab", "[masked: A]"},
		{path, "wJalrXUtnFEMI/K7\n    MDENG/bPxRfiCYQ2\n", "[masked: A]\n"},
		{path, "\u001b wJalrXUtnFEMI/K7", "\u001b [masked: A]"}, // cut off at the end
		// What looks like an escape or an offset and is none.
		{"deadbeef", "100%deadbeef", "100%[masked: A]"},
		{"deadbeef", "deadbeef: x", "[masked: A]: x"},
		{"deadbeef", "de adbe ef", "[masked: A]"},
		{wide, `1234: a note  of "p\u00e4ssw\u00f6rd-\u20ac-\ud83d\ude00-lang"`, `1234: a note  of "[masked: A]"`},
		{wide, `1700000000 | "p\u00e4ssw\u00f6rd-\u20ac-\ud83d\ude00-lang" | x`, `1700000000 | "[masked: A]" | x`},
		{"a|b|c|d|e", "0000000   a   |   b   |   c   |   d   |   e\n0000011\n", "0000000   [masked: A]\n0000011\n"},
		{`C:\new\table`, `at C:\new\table.`, `at [masked: A].`},
		{`C:\new\table`, `"C:\\new\\table"`, `"[masked: A]"`},
		{"100%25 sure", "100%25 sure; 100%2525%20sure", "[masked: A]; [masked: A]"},
		// What stands too far apart is none.
		{"deadbeef", "dead" + strings.Repeat(" ", mostGap+1) + "beef", "dead" + strings.Repeat(" ", mostGap+1) + "beef"},
		{"12345678", "1234 is not 5678; 123456,78", "1234 is not 5678; 123456,78"},
	} {
		m := masks(t, test.value)
		if got := m.Text(test.text); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
		for _, size := range []int{1, 2, 3, 7, 16, 1 << 10} {
			if got := through(t, m, test.text, size); got != test.want {
				t.Errorf("%q in pieces of %d: got %q, want %q", test.text, size, got, test.want)
			}
		}
	}
}

var offset = regexp.MustCompile(`(?m)^[0-9a-f]{7,8}:?(\s|$)`)

// What tools make of a value leaves no more than what is not of the value: offsets, quotes,
// and in base64 and in words the bytes at its ends.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool, script string
		rest         int // bytes that may be left beside offsets
	}{
		{"base64", `printf 'ab%s' "$1" | base64`, 6}, {"base64", `printf %s "$1" | base64 -w 20`, 4},
		{"xxd", `printf %s "$1" | xxd`, 0}, {"xxd", `printf '0123456789ab%s--' "$1" | xxd`, 50}, {"xxd", `printf %s "$1" | xxd -p`, 0},
		{"xxd", `printf %s "$1" | xxd -u -g1 -c8`, 0}, {"xxd", `printf %s "$1" | xxd -ps -c 7`, 0},
		{"od", `printf %s "$1" | od`, 12}, {"od", `printf 'a%s' "$1" | od`, 16}, {"od", `printf %s "$1" | od -x`, 10}, {"od", `printf 'a%s' "$1" | od -An -x`, 12},
		{"od", `printf %s "$1" | od -An -tx1`, 0}, {"od", `printf %s "$1" | od -tx1z`, 0}, {"od", `printf %s "$1" | od -b`, 0},
		{"hexdump", `printf %s "$1" | hexdump`, 10}, {"hexdump", `printf %s "$1" | hexdump -C`, 0},
		{"bash", `bash -c 'printf %q "$1"' sh "$1"`, 3}, {"bash", `bash -c 'x=$1; set | grep ^x=' sh "$1"`, 6}, {"bash", `bash -c 'echo "${1@Q}"' sh "$1"`, 4},
		{"python3", `python3 -c 'import sys,json; print(json.dumps(json.dumps(sys.argv[1])))' "$1"`, 8},
		{"python3", `python3 -c 'import sys,urllib.parse as u; print(u.quote(sys.argv[1], safe="!*()"))' "$1"`, 0},
		{"python3", `python3 -c 'import sys,shlex; print(shlex.quote(sys.argv[1]))' "$1"`, 2},
		{"python3", `python3 -c 'import sys; print(sys.argv[1].encode())' "$1"`, 3},
	} {
		if _, err := exec.LookPath(test.tool); err != nil {
			t.Logf("%s is not on this machine", test.tool)
			continue
		}
		for _, value := range []string{long, signs, wide, path} {
			text, err := exec.Command("sh", "-c", test.script, "sh", value).Output()
			if err != nil {
				t.Fatalf("%s: %v", test.script, err)
			}
			for _, size := range []int{1, 13, 1 << 10} {
				got := through(t, masks(t, value), string(text), size)
				rest := strings.TrimSpace(offset.ReplaceAllString(strings.Replace(got, "[masked: A]", "", 1), ""))
				if strings.Count(got, "[masked: A]") != 1 || len(rest) > test.rest {
					t.Errorf("%s\nof %s in pieces of %d:\n%sbecame %q", test.script, value, size, text, got)
				}
			}
		}
	}
}

// However little of a text is to be kept, what is held back is bounded.
func TestBounded(t *testing.T) {
	t.Parallel()
	m := masks(t, long, "aaaaaaaaaa", `\\\\\\\\\\`)
	for _, part := range []string{"a", `\`, "%25", "25", " ", "EMnY ", long[:60] + "\n", "\n", "00000000: ", `\ud83d`, `\\`, "a\n000010 ", "41 ", "é"} {
		var out bytes.Buffer
		w := m.Writer(&out)
		text := []byte(strings.Repeat(part, 1<<12))
		for range 16 {
			if _, err := w.Write(text); err != nil {
				t.Fatal(err)
			}
			if held := len(w.held) + 64*len(w.fold.text); held > 1<<16 {
				t.Errorf("%q: %d bytes are held", part, held)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A value in many lines, as a key has it, is found line by line, and costs no more.
func TestLines(t *testing.T) {
	t.Parallel()
	var key strings.Builder
	for i := range 400 {
		fmt.Fprintf(&key, "%x=abc\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	m := masks(t, key.String())
	if got := through(t, m, "{"+key.String()+"}", 100); got != "{[masked: A]}" {
		t.Errorf("%.300q", got)
	}
}

func TestOdC(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("od"); err != nil {
		t.Skip("od is not on this machine")
	}
	for _, value := range []string{long, signs, path} {
		text, err := exec.Command("sh", "-c", `printf 'of %s' "$1" | od -c`, "sh", value).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := masks(t, value).Text(string(text)); strings.Count(got, "\n") != 2 {
			t.Errorf("%s", got)
		}
	}
}
