// Package safetext makes text from elsewhere safe to show: what a program
// printed, the names in a file, a message of a cluster. On a terminal such text
// could move the cursor, change colours or the title, or write a line over; in a
// file it could reverse the direction of what follows or hide a part of it.
//
// There is one rule. Letters, marks, digits, punctuation and symbols of all
// scripts stay. What acts on its surroundings or cannot be seen is written out as
// in Go, JSON and YAML, such as \u202e:
//
//   - control characters, C0 and C1;
//   - format characters: overrides and isolates of direction, zero-width
//     characters, byte order marks, tags; other characters without a shape, as
//     Unicode lists them; noncharacters;
//   - joiners and variation selectors, but for those that writing needs: between
//     letters of scripts that join, within emoji, one behind a character.
//
// Bytes that are not UTF-8, lone surrogates among them, become U+FFFD.
//
// Line and Lines are for what programs say: they drop complete escape sequences,
// which are a tool's idea of colour, and turn whatever breaks a line into a space
// or a line feed. Name drops nothing; neither does Writer, the last guard before a
// terminal or a pipe.
package safetext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// sequence matches what a terminal acts on: CSI sequences, OSC and the other
// strings that BEL or ST ends, and short escapes; also in their 8-bit forms. Of a
// string without an end only the beginning matches, so that it hides nothing.
var sequence = regexp.MustCompile(
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
		"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c\u009d\u0090\u0098\u009e\u009f]*(?:\x07|\x1b\\\\|\u009c)" +
		"|\x1b(?:[#%()*+./-][0-~]|[0-~])?")

func withoutSequences(s string) string {
	if !strings.ContainsAny(s, "\x1b\u009b\u009d\u0090\u0098\u009e\u009f") {
		return s
	}
	return sequence.ReplaceAllString(s, "")
}

// breaks are the other ways to begin a line.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Name shows the whole of a text on one line, white space other than the space
// written out: what a file is called, or a command.
func Name(s string) string { return spelled(s, escape) }

// Line makes one line of any text: runs of white space are one space, with none
// at the ends.
func Line(s string) string {
	return spelled(strings.Join(strings.Fields(withoutSequences(s)), " "), escape)
}

// Lines keeps the lines of a text and its tabs.
func Lines(s string) string { return spelled(breaks.Replace(withoutSequences(s)), escapeInLines) }

// ellipsis stands for what was left out.
const ellipsis = "…"

// Head is the beginning of Line: so many characters, and an ellipsis where that
// is not all.
func Head(s string, most int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	cut := []rune(s)[:most]
	return strings.TrimRightFunc(string(cut), leans) + ellipsis
}

// Tail is the end of Line: an ellipsis where that is not all, and so many
// characters.
func Tail(s string, most int) string {
	s = Line(s)
	n := utf8.RuneCountInString(s)
	if n <= most {
		return s
	}
	cut := []rune(s)[n-most:]
	return ellipsis + strings.TrimLeftFunc(string(cut), leans)
}

// leans says whether a character is none without its neighbour.
func leans(r rune) bool {
	return unicode.In(r, unicode.Join_Control, unicode.Variation_Selector, unicode.M) || unicode.IsSpace(r)
}

// Printable says whether a text is one line that shows all there is in it, so
// that it can be a name. Of white space it may hold the space only.
func Printable(s string) bool {
	odd := func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }
	return utf8.ValidString(s) && !strings.ContainsFunc(s, odd) && spelled(s, escape) == s
}

// JSON writes out, within the strings of a JSON document, what encoding/json
// leaves as it is. The document stays the same.
func JSON(document []byte) []byte {
	if plainBytes(document) {
		return document
	}
	safe, _ := spell(nil, document, 0, escapeInJSON)
	return safe
}

// escape writes a character out.
func escape(dst []byte, r rune) []byte {
	if r > 0xffff {
		return fmt.Appendf(dst, `\U%08x`, r)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

// escapeInLines is escape for what stands between the lines of a text.
func escapeInLines(dst []byte, r rune) []byte {
	if r == '\n' || r == '\t' {
		return append(dst, byte(r))
	}
	return escape(dst, r)
}

// escapeInJSON is escape for JSON, which has surrogates in place of \U, and white
// space between its values.
func escapeInJSON(dst []byte, r rune) []byte {
	switch {
	case r == '\r':
		return append(dst, '\r')
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
	}
	return escapeInLines(dst, r)
}

func spelled(s string, write func([]byte, rune) []byte) string {
	if printableASCII(s) {
		return s
	}
	safe, _ := spell(nil, []byte(s), 0, write)
	return string(safe)
}

// spell appends a text, whose last character before it was prev, and has write
// append what is not shown as it is. It gives the last character that was; 0 if
// that was not the last one.
func spell(dst, s []byte, prev rune, write func([]byte, rune) []byte) ([]byte, rune) {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		next, _ := utf8.DecodeRune(s[size:])
		if shown(prev, r, next) {
			dst, prev = utf8.AppendRune(dst, r), r
		} else {
			dst, prev = write(dst, r), 0
		}
		s = s[size:]
	}
	return dst, prev
}

// shown says whether r stays as it is between its neighbours.
func shown(prev, r, next rune) bool {
	switch {
	case r < 0x7f:
		return r >= ' '
	case unicode.Is(unicode.Join_Control, r):
		return joins(prev) && joins(next)
	case unicode.Is(unicode.Variation_Selector, r):
		return prev > ' ' && !unicode.IsSpace(prev) && !unicode.Is(unicode.Variation_Selector, prev) && !hidden(r)
	}
	return !hidden(r)
}

// hidden says whether r acts on its surroundings or has no shape of its own.
func hidden(r rune) bool {
	if unicode.Is(unicode.Cf, r) {
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// joining are the scripts whose letters are joined, or kept apart, by a character
// that is not seen itself.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// joins says whether r may stand beside a joiner: letters and marks of those
// scripts, and what emoji are made of.
func joins(r rune) bool {
	switch {
	case r < 0x80 || hidden(r):
		return false
	case r == 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff: // an emoji's shape and tone of skin
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm) || unicode.In(r, joining...)
}

// printableASCII is the common case.
func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// plainBytes is the common case of documents.
func plainBytes(p []byte) bool {
	for _, b := range p {
		if (b < ' ' || b > '~') && b != '\n' && b != '\t' {
			return false
		}
	}
	return true
}
