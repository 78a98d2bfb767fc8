// Package mask takes known secrets out of texts: the values that a run has taken from
// variables and files must stand in nothing that it writes.
//
// A secret is found as it is, line by line where it has several, and in the ways in which
// programs write it again: in base64 (also in the middle of something longer), in
// hexadecimal, escaped for a URL, for JSON or for a shell, and in the dumps of xxd, od and
// hexdump. A text is searched twice for that: as it is, and folded (see folder), because
// nobody can list the ways to break lines and to escape. Whatever else a program does with a
// secret, it is not found; and a value that is shorter than Least is not looked for, because
// it would be found in everything.
package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Least is the length of the shortest value that is masked, in bytes.
const Least = 6

// leastEncoded is that of the shortest that is looked for in base64 in the middle of
// something longer, of which some signs depend on what is beside it.
const leastEncoded = 8

// Mask takes secrets out of texts. A nil Mask has none, and gives everything as it is. It
// may be used by several goroutines.
type Mask struct {
	raw, folded view
}

// Add adds a value, by the name that is shown in its place: "[masked: TOKEN]". All values
// are added before the Mask is used. It says whether the value is long enough.
func (m *Mask) Add(name, value string) bool {
	shown := []byte("[masked: " + strings.Map(printable, name) + "]")
	masked := false
	for _, line := range append([]string{value}, strings.Split(value, "\n")...) {
		if line = strings.TrimRight(line, "\r"); len(strings.TrimSpace(line)) < Least {
			continue
		}
		masked = true
		for _, text := range written(line) {
			m.raw.add(text, shown)
			m.folded.add(folded(text), shown)
		}
		for _, text := range dumped([]byte(line)) {
			m.folded.add(text, shown)
		}
	}
	return masked
}

// printable keeps a name such that it can stand in JSON and in any text.
func printable(r rune) rune {
	if r < ' ' || r >= utf8.RuneSelf || strings.ContainsRune(`"'\<>&]`, r) {
		return '_'
	}
	return r
}

// written gives the ways in which a value is written.
func written(value string) []string {
	raw := []byte(value)
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value), lowerEscapes(url.QueryEscape(value)), lowerEscapes(url.PathEscape(value)),
		inJSON(value, true), inJSON(value, false), strings.ReplaceAll(value, "'", `'\''`), html.EscapeString(value),
		strings.Join(strings.Fields(value), " "), // a command line, as it is told
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, e.EncodeToString(raw))
		for before := range 3 {
			if len(value) >= leastEncoded {
				all = append(all, within(e, raw, before))
			}
		}
	}
	return all
}

// within is what base64 makes of a value behind a number of other bytes, whatever they
// are: the signs that depend on the value alone.
func within(e *base64.Encoding, value []byte, before int) string {
	text := e.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + 5) / 6
	whole := (before + len(value)) * 8 / 6
	return text[first:whole]
}

func lowerEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			b.WriteString(strings.ToLower(text[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func inJSON(text string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(text) // a text can be encoded
	return strings.Trim(strings.TrimSpace(b.String()), `"`)
}

// dumped gives the ways in which a dump writes a value, beside bytes in hexadecimal: bytes in
// octal, and words of two bytes, the first byte last, as od and hexdump have them by
// themselves. A value may begin within a word.
func dumped(value []byte) []string {
	var octal strings.Builder
	for _, b := range value {
		fmt.Fprintf(&octal, "%03o", b)
	}
	all := []string{octal.String()}
	for begin := range 2 {
		for _, form := range []string{"%04x", "%06o"} {
			var words strings.Builder
			for i := begin; i+1 < len(value); i += 2 {
				fmt.Fprintf(&words, form, uint(value[i+1])<<8|uint(value[i]))
			}
			all = append(all, words.String())
		}
	}
	return all
}

// span is a part of a text that is masked.
type span struct {
	start, end int
	shown      []byte
	// line says that it is in a line of a dump, whose end shows the same bytes again.
	line bool
}

// joined joins spans that overlap: what is left of one that another covers in part must not
// stay.
func joined(all []span) []span {
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Text takes the secrets out of a short text, such as a message. Such a text may have been
// cut off in the middle of one: what is left of it at a cut is masked, too.
func (m *Mask) Text(text string) string {
	if m == nil || len(m.raw.needles) == 0 {
		return text
	}
	var out strings.Builder
	w := m.Writer(&out)
	for _, n := range m.raw.needles {
		w.spans = append(w.spans, cuts([]byte(text), n)...)
	}
	_, _ = w.Write([]byte(text)) // a Builder takes everything
	_ = w.Close()
	return out.String()
}

// cuts finds what a cut has left of a needle: its beginning where something ends, or its
// end where something begins.
func cuts(text []byte, n *needle) []span {
	var all []span
	whole := []byte(n.text)
	head, tail := whole[:Least], whole[len(whole)-Least:]
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], head)
		if i < 0 {
			break
		}
		at += i
		length := shared(text[at:], whole)
		if ends(text[at+length:]) {
			all = append(all, span{at, at + length, n.shown, false})
		}
	}
	for at := 0; ; at++ {
		i := bytes.Index(text[at:], tail)
		if i < 0 {
			break
		}
		at += i
		end := at + len(tail)
		start := end
		for start > 0 && end-start < len(whole) && text[start-1] == whole[len(whole)-(end-start)-1] {
			start--
		}
		if begins(text[:start]) {
			all = append(all, span{start, end, n.shown, false})
		}
	}
	return all
}

// shared is how much of the beginning two texts share.
func shared(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// marks are what stands where a text was cut off.
func ends(rest []byte) bool {
	return len(rest) == 0 || strings.ContainsRune(`"'`, rune(rest[0])) || bytes.HasPrefix(rest, []byte("…")) || bytes.HasPrefix(rest, []byte("..."))
}

func begins(before []byte) bool {
	n := len(before)
	return n == 0 || strings.ContainsRune(`"' `, rune(before[n-1])) || bytes.HasSuffix(before, []byte("…"))
}
