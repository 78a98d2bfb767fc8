package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
)

const value = `p@ss w'rd"9/+`

func masks(t testing.TB, values ...string) *Mask {
	t.Helper()
	var m Mask
	for i, v := range values {
		m.Add(string(rune('A'+i)), v)
	}
	return &m
}

// through writes a text in pieces of one size.
func through(t testing.TB, m *Mask, text string, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := m.Writer(&out)
	for at := 0; at < len(text); at += size {
		if _, err := w.Write([]byte(text[at:min(at+size, len(text))])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestForms(t *testing.T) {
	t.Parallel()
	m := masks(t, value)
	quoted, _ := json.Marshal(map[string]string{"x": value})
	for name, text := range map[string]string{
		"plain":      "a" + value + "b",
		"query":      "x=" + url.QueryEscape(value) + "&y",
		"path":       "/" + url.PathEscape(value) + "/",
		"lower":      strings.ToLower(url.QueryEscape("/")) + "",
		"JSON":       string(quoted),
		"hex":        hex.EncodeToString([]byte(value)),
		"base64":     base64.StdEncoding.EncodeToString([]byte(value)),
		"basic":      "Basic " + base64.StdEncoding.EncodeToString([]byte("a:"+value)),
		"basic 2":    "Basic " + base64.StdEncoding.EncodeToString([]byte("ab:"+value+"x")),
		"basic 3":    "Basic " + base64.StdEncoding.EncodeToString([]byte("abc:"+value+"xy")),
		"url base64": base64.URLEncoding.EncodeToString([]byte("a" + value)),
		"shell":      `'p@ss w'\''rd"9/+'`,
	} {
		if name == "lower" {
			text = "p%40ss+w%27rd%229%2f%2b"
		}
		got := m.Text(text)
		if !strings.Contains(got, "[masked: A]") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
		for size := 1; size < 12; size++ {
			if out := through(t, m, text, size); out != got {
				t.Errorf("%s in pieces of %d: %q, whole %q", name, size, out, got)
			}
		}
		// What is left in base64 says at most the bytes beside it.
		if strings.HasPrefix(name, "basic") {
			rest := strings.TrimPrefix(strings.Replace(got, "[masked: A]", "", 1), "Basic ")
			if len(rest) > 14 {
				t.Errorf("%s: %q is left", name, rest)
			}
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		values []string
		text   string
		want   string
	}{
		{[]string{"hunter2"}, "say hunter2, hunter2hunter2", "say [masked: A], [masked: A][masked: A]"},
		{[]string{"hunter2", "hunter2-long"}, "hunter2-long", "[masked: B]"},
		{[]string{"abcdef", "defghi"}, "xabcdefghix", "x[masked: A]x"}, // nothing of B is left
		{[]string{"short"}, "short", "short"},
		{[]string{"first line\nsecond line\n"}, "> second line", "> [masked: A]"},
		{nil, "x", "x"},
		// Cut off, as messages are.
		{[]string{"hunter2-very-long"}, `"it is hunter2-ver" and 9 more bytes`, `"it is [masked: A]" and 9 more bytes`},
		{[]string{"hunter2-very-long"}, `…very-long is wrong`, `…[masked: A] is wrong`},
		{[]string{"hunter2-very-long"}, `exit status 1: very-long`, `exit status 1: [masked: A]`},
		{[]string{"two  blanks\tand a tab"}, `"run --with two blanks and…" was left`, `"run --with [masked: A]…" was left`},
		{[]string{"hunter2-very-long"}, `it is hunter2-very`, `it is [masked: A]`},
		{[]string{"hunter2-very-long"}, `hunter2 is a name`, `hunter2 is a name`},
	}
	for _, test := range tests {
		if got := masks(t, test.values...).Text(test.text); got != test.want {
			t.Errorf("%q without %q: got %q, want %q", test.text, test.values, got, test.want)
		}
	}
	var none *Mask
	if got := none.Text("x"); got != "x" {
		t.Error(got)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	var m Mask
	if !m.Add("a\"b\n]", "hunter2") || m.Add("B", "short") {
		t.Error("long enough is from 6 bytes")
	}
	if got := m.Text("hunter2"); got != "[masked: a_b__]" {
		t.Error(got)
	}
}

// What stays held back at the end comes out, but for the beginning of a secret.
func TestClose(t *testing.T) {
	t.Parallel()
	m := masks(t, "hunter2-very-long")
	for text, want := range map[string]string{"a hunt": "a hunt", "a hunter2-very": "a [masked: A]", "": "", "a hunter2-very-long": "a [masked: A]"} {
		for size := 1; size < 5; size++ {
			if got := through(t, m, text, size); got != want {
				t.Errorf("%q: got %q", text, got)
			}
		}
	}
}

// However a text is split, what comes out is the same, and holds no secret.
func FuzzWriter(f *testing.F) {
	f.Add("hunter2 hunter2hunter2 hunt", "hunter2", "ter2hu", 3)
	f.Add("aaaaaaaaaaaaaaaab", "aaaaaa", "aaaaaab", 1)
	f.Add("abcabcabcabcabx", "abcabc", "bcabca", 2)
	f.Fuzz(func(t *testing.T, text, a, b string, size int) {
		if size < 1 || len(text) > 1<<10 || len(a) > 1<<8 || len(b) > 1<<8 || strings.Contains("[masked: A]B", a) || strings.Contains(text, "masked") {
			return
		}
		m := masks(t, a, b)
		whole, parts := through(t, m, text, len(text)+1), through(t, m, text, size)
		if whole != parts {
			t.Errorf("%q without %q and %q in parts of %d: %q, in one %q", text, a, b, size, parts, whole)
		}
		for _, s := range strings.FieldsFunc(strings.NewReplacer("[masked: A]", "\x00", "[masked: B]", "\x00").Replace(parts), func(r rune) bool { return r == 0 }) {
			for _, v := range []string{a, b} {
				if len(strings.TrimSpace(v)) >= Least && strings.Contains(s, v) {
					t.Errorf("%q holds %q", s, v)
				}
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	line := []byte("some output of a program, a line of it, as they come one by one\n")
	for name, text := range map[string][]byte{"lines": line, "blocks": bytes.Repeat(line, 500), "JSON": bytes.Repeat([]byte(`{"at": "2026-01-02T15:04:05Z", "p99": 0.00123},`+"\n"), 500)} {
		for _, secrets := range []int{1, 10} {
			b.Run(fmt.Sprintf("%s/%d", name, secrets), func(b *testing.B) {
				var values []string
				for i := range secrets {
					values = append(values, fmt.Sprintf("%x-token-of-some-length-0123456789", i*7919+10))
				}
				w := masks(b, values...).Writer(io.Discard)
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					_, _ = w.Write(text)
				}
			})
		}
	}
}
