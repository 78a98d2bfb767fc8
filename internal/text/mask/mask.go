// Package mask removes known secrets from texts. Secrets are the values that a run reads from variables and files. Tare
// must never write them anywhere.
//
// A secret is found in its original form, each of its lines by itself, and in common encodings: base64 (even inside a
// longer value), hexadecimal, escapes for a URL, JSON or a shell, and dumps of xxd, od and hexdump. Every text is
// searched in its original form and folded (see folder).
//
// Secrets in other encodings are not found. Values shorter than Least are not masked, because they would occur
// everywhere.
package mask

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Least is the length of the shortest value that is masked, in bytes.
const Least = 6

// Mask removes secrets from texts. A nil Mask has no secrets and changes nothing. Several goroutines may use a Mask.
type Mask struct {
	raw, folded searcher
}

// searcher finds needles, the forms of secrets. One searcher is for the original text, and one for the folded text.
type searcher struct {
	needles []*needle
	seeds   map[uint32][]*needle // all needles, under their first four bytes as the key
	// maybe[h] is true if the first bytes of some needle have the hash h. One look-up rules out most bytes of a text.
	maybe [1 << 14]bool
}

type needle struct {
	text  []byte
	shown []byte // text that output shows in place of the secret
}

// seed is the number of first bytes by which the needles of a position are looked up.
const seed = 4

func hash(beginning uint32) uint32 { return beginning * 0x9e3779b1 >> 18 }

func (v *searcher) add(text string, shown []byte) {
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

// Add adds a secret value, which texts show as "[masked: NAME]". It must be called before the Mask is first used. The
// result is false if the value is too short to be masked.
func (m *Mask) Add(name, value string) bool {
	shown := []byte("[masked: " + strings.Map(printable, name) + "]")
	masked := false
	for _, line := range append([]string{value}, strings.Split(value, "\n")...) {
		if line = strings.TrimRight(line, "\r"); len(strings.TrimSpace(line)) < Least {
			continue
		}
		masked = true
		for _, text := range encodings(line) {
			m.raw.add(text, shown)
			m.folded.add(folded(text), shown)
		}
	}
	return masked
}

// printable returns '_' for a character of a secret's name that some texts or JSON cannot hold. It returns any other
// character as it is.
func printable(r rune) rune {
	if r < ' ' || r >= utf8.RuneSelf || strings.ContainsRune(`"'\<>&]`, r) {
		return '_'
	}
	return r
}

// encodings returns the forms of a value that differ even after folding, such as base64. Dumps of two-byte words may
// begin at the first or second byte.
func encodings(value string) []string {
	// leastEncoded is the least length, in bytes, of values found in base64 inside longer ones. Only the middle is
	// searched: the ends depend on neighbours.
	const leastEncoded = 8
	raw, octal := []byte(value), ""
	for _, b := range raw {
		octal += fmt.Sprintf("%03o", b)
	}
	all := []string{
		value, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), octal,
		strings.Join(strings.Fields(value), " "), strings.ReplaceAll(value, " ", "+"), html.EscapeString(value), surrogates.ReplaceAllString(value, "\uFFFD\uFFFD"),
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
		// before: bytes ahead of the value that base64 may encode in one group with its first byte
		for before := 0; before < 3 && len(value) >= leastEncoded; before++ {
			text := e.EncodeToString(append(make([]byte, before), raw...))
			// only the characters that depend on value alone, and not on the bytes around it
			all = append(all, text[(before*8+5)/6:(before+len(raw))*8/6])
		}
	}
	return all
}

// surrogates matches the characters that JSON may write as two escapes.
var surrogates = regexp.MustCompile(`[\x{10000}-\x{10FFFF}]`)

type span struct {
	start, end int
	shown      []byte
}

// find returns all occurrences of needles, even if they overlap; last = true: even one cut off at the text's end. safe
// is a position: needles that begin before it lie completely in the text.
func (v *searcher) find(text []byte, last bool) (all []span, safe int) {
	safe = max(len(text)-seed+1, 0)
	beginning := uint32(0)
	for i, b := range text {
		beginning = beginning<<8 | uint32(b)
		if i -= seed - 1; !v.maybe[hash(beginning)] || i < 0 {
			continue
		}
		for _, n := range v.seeds[beginning] {
			length := commonPrefix(text[i:], n.text)
			if length == len(n.text) || last && length >= Least && i+length == len(text) {
				all = append(all, span{i, i + length, n.shown})
			} else if i+length == len(text) {
				safe = min(safe, i)
			}
		}
	}
	return all, safe
}

// joined merges overlapping spans, so that no part of a secret stays visible.
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

// Text masks the secrets in a short text, such as a message. If the message is cut off inside a secret, the remaining
// part is masked.
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
	_ = w.pass(all, true) // writing to a Builder cannot fail
	return out.String()
}

// cuts finds parts of a secret (the needle) in a text that was cut off: the secret's beginning at the text's end, or
// its end at the text's beginning.
func cuts(text []byte, n *needle) []span {
	var all []span
	for i := range text {
		if k := commonPrefix(text[i:], n.text); k >= Least && ends(text[i+k:]) {
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

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ends reports whether rest, the bytes after a text, are a sign that the text was cut off. The sign is no bytes at all,
// a quote, or an ellipsis.
func ends(rest []byte) bool {
	return len(rest) == 0 || strings.ContainsRune(`"'`, rune(rest[0])) || bytes.HasPrefix(rest, []byte("…")) || bytes.HasPrefix(rest, []byte("..."))
}

func begins(before []byte) bool {
	n := len(before)
	return n == 0 || strings.ContainsRune(`"' `, rune(before[n-1])) || bytes.HasSuffix(before, []byte("…"))
}

// Writer masks the secrets in a text, and writes the result to another writer. It holds back text that may be the
// beginning of a secret.
type Writer struct {
	mask    *Mask
	to      io.Writer
	held    []byte
	base    int // position of held[0] in the complete text
	fold    folder
	covered int
	out     []byte
}

// mostAtOnce is the largest number of bytes that are folded in one step. This limits the memory.
const mostAtOnce = 16 << 10

// Writer returns a Writer that writes to the given writer. The written text is complete only after Close.
func (m *Mask) Writer(to io.Writer) *Writer { return &Writer{mask: m, to: to} }

// Write writes the next part of the text. The error is from the underlying writer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.mask == nil || len(w.mask.raw.needles) == 0 {
		return w.to.Write(p)
	}
	for done := 0; done < len(p); done += mostAtOnce {
		part := p[done:min(done+mostAtOnce, len(p))]
		w.fold.add(part, w.base+len(w.held))
		w.held = append(w.held, part...)
		if err := w.pass(nil, false); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

// Close writes the text that was held back. At the end of the text, a secret's beginning is masked like a whole secret.
func (w *Writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.pass(nil, true)
}

// find returns the secrets in the held text. safe is a position in the complete text: a secret that begins before it
// ends within the held text.
func (w *Writer) find(last bool) (all []span, safe int) {
	all, safe = w.mask.raw.find(w.held, last)
	for i := range all {
		all[i].start, all[i].end = all[i].start+w.base, all[i].end+w.base
	}
	end, sure := w.base+len(w.held), w.fold.final()
	if last {
		sure = len(w.fold.text)
	}
	folded, from := w.mask.folded.find(w.fold.text[:sure], last)
	if safe += w.base; from < len(w.fold.text) {
		safe = min(safe, w.fold.positions[from].start)
	}
	for _, s := range folded {
		first, to := w.fold.positions[s.start], w.fold.positions[s.end-1]
		all = append(all, span{first.start, to.end, s.shown})
	}
	if last {
		safe = end
	}
	return all, safe
}

// pass writes the held text up to the position that find returns as safe, and keeps the rest. It masks the secrets, and
// the spans in extra.
func (w *Writer) pass(extra []span, last bool) error {
	all, safe := w.find(last)
	out, at := w.out[:0], max(w.base, min(w.covered, safe))
	for _, s := range joined(append(all, extra...)) {
		if s.start >= safe {
			break
		}
		if s.start >= w.covered {
			out = append(out, w.held[at-w.base:s.start-w.base]...)
			out = append(out, s.shown...)
		}
		w.covered = max(w.covered, s.end)
		at = min(w.covered, safe)
	}
	out = append(out, w.held[at-w.base:safe-w.base]...)
	w.held, w.base, w.out = append(w.held[:0], w.held[safe-w.base:]...), safe, out
	w.fold.forget(safe)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
