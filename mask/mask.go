// Package mask takes known secrets out of texts: the values that a run has taken from
// variables and files must stand in nothing that it writes.
//
// A secret is found as it is, line by line where it has several, and in the ways in which
// programs write it again: in base64 (also in the middle of something longer), in
// hexadecimal, escaped for a URL, for JSON or for a shell, and in the dumps of xxd, od and
// hexdump. A text is searched twice for that: as it is, and folded (see folder), since nobody
// can list the ways to break lines and to escape. Whatever else a program does with a secret,
// it is not found; and a value that is shorter than Least is not looked for, because it would
// be found in everything.
package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"html"
	"regexp"
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

// view is a way to read a text, with what to find in it.
type view struct {
	needles []*needle
	seeds   map[uint32][]*needle // by their beginning
	maybe   [1 << 14]bool        // by the hash of a beginning: most bytes cost one look at it
}

type needle struct {
	text  []byte
	shown []byte // in its place
}

// seed is the length of the beginning by which needles are looked up, in bytes.
const seed = 4

func hash(beginning uint32) uint32 { return beginning * 0x9e3779b1 >> 18 }

// add adds a needle, unless it is too short.
func (v *view) add(text string, shown []byte) {
	if len(text) < Least {
		return
	}
	n, beginning := &needle{[]byte(text), shown}, binary.BigEndian.Uint32([]byte(text))
	if v.seeds == nil {
		v.seeds = map[uint32][]*needle{}
	}
	v.needles, v.seeds[beginning] = append(v.needles, n), append(v.seeds[beginning], n)
	v.maybe[hash(beginning)] = true
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

// written gives the ways in which a value is written that are not the same once they are
// folded, or cut off: also with single blanks, with + for a blank, for HTML, with halves of characters as JSON has them, and
// in dumps as bytes in octal or as words of two bytes, the first byte last, within which a
// value may begin.
func written(value string) []string {
	raw, octal := []byte(value), ""
	for _, b := range raw {
		octal += fmt.Sprintf("%03o", b)
	}
	all := []string{
		value, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), octal,
		strings.Join(strings.Fields(value), " "), strings.ReplaceAll(value, " ", "+"), html.EscapeString(value), halves.ReplaceAllString(value, "\uFFFD\uFFFD"),
	}
	for begin := range 2 {
		hexadecimal, octal := "", ""
		for i := begin; i+1 < len(raw); i += 2 {
			word := int(raw[i+1])<<8 | int(raw[i])
			hexadecimal, octal = hexadecimal+fmt.Sprintf("%04x", word), octal+fmt.Sprintf("%06o", word)
		}
		all = append(all, hexadecimal, octal)
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

// halves are the characters that JSON escapes in two halves, of which none is a character.
var halves = regexp.MustCompile(`[\x{10000}-\x{10FFFF}]`)

// span is a part of a text that is masked.
type span struct {
	start, end int
	shown      []byte
}

// find finds every place of every needle, also within others, and the place before which each
// has its end in the text. At the last of a text, what looks like a beginning is found, too.
func (v *view) find(text []byte, last bool) (all []span, safe int) {
	safe = max(len(text)-seed+1, 0)
	beginning := uint32(0)
	for i, b := range text {
		beginning = beginning<<8 | uint32(b)
		if i -= seed - 1; !v.maybe[hash(beginning)] || i < 0 {
			continue
		}
		for _, n := range v.seeds[beginning] {
			length := shared(text[i:], n.text)
			if length == len(n.text) || last && length >= Least && i+length == len(text) {
				all = append(all, span{i, i + length, n.shown})
			} else if i+length == len(text) {
				safe = min(safe, i)
			}
		}
	}
	return all, safe
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
	w.held = []byte(text)
	w.fold.add(w.held, 0)
	var all []span
	for _, n := range m.raw.needles {
		all = append(all, cuts(w.held, n)...)
	}
	_ = w.pass(all, true) // a Builder takes everything
	return out.String()
}

// cuts finds what a cut has left of a needle: its beginning where something ends, or its
// end where something begins.
func cuts(text []byte, n *needle) []span {
	var all []span
	for i := range text {
		if k := shared(text[i:], n.text); k >= Least && ends(text[i+k:]) {
			all = append(all, span{i, i + k, n.shown})
		}
		k := 0
		for k <= i && k < len(n.text) && text[i-k] == n.text[len(n.text)-1-k] {
			k++
		}
		if k >= Least && begins(text[:i+1-k]) {
			all = append(all, span{i + 1 - k, i + 1, n.shown})
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
