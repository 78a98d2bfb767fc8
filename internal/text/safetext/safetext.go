// Package safetext makes text from other sources safe to show, such as a program's output, the names in a file, or a
// message of a cluster. On a terminal, such text could move the cursor, change colours, or overwrite a line. In a file,
// it could reverse or hide the following text.
//
// Letters, combining marks, digits, punctuation and symbols of all scripts stay. Characters that affect their
// surroundings or are invisible become escapes, such as \u202e:
//
//   - control characters, C0 and C1;
//   - format characters: overrides and isolates of direction, zero-width characters, byte order marks, tags;
//   - other characters without a shape, as Unicode lists them, and noncharacters;
//   - joiners and variation selectors, except where writing needs them: between letters of scripts that join, within
//     emoji, one after a character.
//
// Bytes that are not UTF-8, including lone surrogates, become U+FFFD.
//
// Line and Lines are for the output of programs. They remove complete escape sequences, such as colours, and turn line
// breaks into spaces or line feeds. Name and NewWriter remove nothing.
package safetext

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// sequence matches terminals' control sequences, even 8-bit ones: CSI, strings such as OSC (which BEL or ST ends), and
// short escapes. Of a string without an end, only the first characters match.
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

// breaks turns every kind of line break into a line feed.
var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Name shows a text, such as a file name or a command, on one line. White space other than the space becomes an escape.
func Name(s string) string { return spelled(s, escape) }

// Line makes one line of a text. A run of white space becomes one space; white space at both ends is removed.
func Line(s string) string {
	return spelled(strings.Join(strings.Fields(withoutSequences(s)), " "), escape)
}

// Lines makes a text safe, but keeps its lines and tabs.
func Lines(s string) string { return spelled(breaks.Replace(withoutSequences(s)), escapeInLines) }

// Head makes one line of a text (see Line) and keeps its beginning. most is the largest number of characters; an
// ellipsis shows that more followed.
func Head(s string, most int) string {
	line := []rune(Line(s))
	if len(line) <= most {
		return string(line)
	}
	return strings.TrimRightFunc(string(line[:most]), leans) + "…"
}

// Tail makes one line of a text (see Line) and keeps its end. most is the largest number of characters; an ellipsis
// shows that more came before.
func Tail(s string, most int) string {
	line := []rune(Line(s))
	if len(line) <= most {
		return string(line)
	}
	return "…" + strings.TrimLeftFunc(string(line[len(line)-most:]), leans)
}

// leans reports whether a character must not stand next to an ellipsis: white space, or a change of its neighbour such
// as a combining accent.
func leans(r rune) bool {
	return unicode.In(r, unicode.Join_Control, unicode.Variation_Selector, unicode.M) || unicode.IsSpace(r)
}

// Printable reports whether a text can be shown as a name: one line without hidden characters, and without white space
// other than the space.
func Printable(s string) bool {
	odd := func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }
	return utf8.ValidString(s) && !strings.ContainsFunc(s, odd) && spelled(s, escape) == s
}

// JSON escapes the unsafe characters that encoding/json leaves in a document. The document means the same as before.
func JSON(document []byte) []byte {
	if plain(document, "\n\t") {
		return document
	}
	safe, _ := spell(nil, document, 0, escapeInJSON)
	return safe
}

func escape(dst []byte, r rune) []byte {
	if r > 0xffff {
		return fmt.Appendf(dst, `\U%08x`, r)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}

func escapeInLines(dst []byte, r rune) []byte {
	if r == '\n' || r == '\t' {
		return append(dst, byte(r))
	}
	return escape(dst, r)
}

// escapeInJSON writes a character as an escape of JSON, which has surrogates instead of \U. Line breaks and tabs stay
// as they are.
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
	if plain(s, "") {
		return s
	}
	safe, _ := spell(nil, []byte(s), 0, write)
	return string(safe)
}

// spell appends s to dst, and calls write for characters that need an escape. prev is the character before s. The rune
// is the last of s; 0: escaped.
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

// shown reports whether the character r may be shown unchanged, between the characters prev and next.
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

// hidden reports whether the character r affects its surroundings or is invisible.
func hidden(r rune) bool {
	if unicode.Is(unicode.Cf, r) {
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// joining lists the scripts, such as Arabic, in which an invisible character (a joiner) may join or separate letters.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// joins reports whether an invisible joiner makes sense next to r: a letter or mark of a script in joining, or a part
// of an emoji.
func joins(r rune) bool {
	switch {
	case r < 0x80 || hidden(r):
		return false
	case r == 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff: // variation selector and skin tones of emoji
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm) || unicode.In(r, joining...)
}

// plain reports whether a text needs no escapes: it has only printable ASCII, and characters of extra.
func plain[T string | []byte](s T, extra string) bool {
	for i := range len(s) {
		if b := s[i]; (b < ' ' || b > '~') && strings.IndexByte(extra, b) < 0 {
			return false
		}
	}
	return true
}

// writer escapes unsafe characters in a text and writes the result to another writer. Line feeds and tabs stay. Several
// goroutines may use it.
type writer struct {
	// Styled is set to let the escape sequences for colours and bold text through, in their 7-bit form.
	Styled bool

	to   io.Writer
	mu   sync.Mutex
	held []byte // beginning of a character or sequence whose rest has not been written yet
	prev rune   // last character of the text so far; 0 if it was escaped
	err  error  // the first error of the underlying writer
}

// NewWriter returns a writer that escapes text for another writer. It is the last check before a terminal or a pipe.
func NewWriter(to io.Writer) *writer { return &writer{to: to} }

// style matches the escape sequences of reports for weights and colours, none that hides text. partStyle matches a
// sequence cut off at the text's end.
var (
	style     = regexp.MustCompile("\x1b\\[(?:(?:[0-4]|[349][0-7])(?:;(?:[0-4]|[349][0-7])){0,5})?m")
	partStyle = regexp.MustCompile("\x1b(?:\\[[0-9;]{0,17})?$")
)

// Write escapes a text and writes it. If the text ends within a character or style, that part waits for the next Write
// or Flush.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 && plain(p, "\n\t") {
		if len(p) > 0 {
			w.prev = rune(p[len(p)-1])
		}
		return w.pass(p)
	}
	text := append(w.held, p...)
	end := w.whole(text)
	safe := w.safe(text[:end])
	w.held = append([]byte(nil), text[end:]...)
	if _, err := w.pass(safe); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) pass(safe []byte) (int, error) {
	n, err := w.to.Write(safe)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// Flush writes the text that was held back. It returns the first error of any write.
func (w *writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		safe := w.safe(w.held)
		w.held = nil
		_, _ = w.pass(safe) // w.err has the error, too
	}
	return w.err
}

// whole returns the length of the text without an incomplete end, such as half a character, which can only be judged
// together with later text.
func (w *writer) whole(text []byte) int {
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= end; back++ {
		if last := text[end-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= back
			}
			break
		}
	}
	if r, size := utf8.DecodeLastRune(text[:end]); unicode.Is(unicode.Join_Control, r) {
		end -= size
	}
	if w.Styled {
		if at := partStyle.FindIndex(text[:end]); at != nil {
			end = at[0]
		}
	}
	return end
}

func (w *writer) safe(text []byte) []byte {
	var out []byte
	for w.Styled {
		at := style.FindIndex(text)
		if at == nil {
			break
		}
		out, _ = spell(out, text[:at[0]], w.prev, escapeInLines)
		out, text, w.prev = append(out, text[at[0]:at[1]]...), text[at[1]:], 0
	}
	out, w.prev = spell(out, text, w.prev, escapeInLines)
	return out
}
