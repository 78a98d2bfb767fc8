package safetext

import (
	"io"
	"regexp"
	"sync"
	"unicode"
	"unicode/utf8"
)

// writer escapes unsafe characters and writes the text to another writer. Line feeds and tabs stay.
// Several goroutines may write at the same time.
type writer struct {
	// Styled lets colours and weights of letters through, in their 7-bit form.
	Styled bool

	to   io.Writer
	mu   sync.Mutex
	held []byte // beginning of an unfinished character or sequence
	prev rune   // last character, if it was shown unchanged
	err  error  // first error of to
}

// NewWriter returns a Writer in front of to.
func NewWriter(to io.Writer) *writer { return &writer{to: to} }

// style matches the escape sequences of reports: weights and colours, but not concealment. partStyle
// matches the beginning of one at the end of a text.
var (
	style     = regexp.MustCompile("\x1b\\[(?:(?:[0-4]|[349][0-7])(?:;(?:[0-4]|[349][0-7])){0,5})?m")
	partStyle = regexp.MustCompile("\x1b(?:\\[[0-9;]{0,17})?$")
)

// Write writes p. An unfinished character at its end is held back until the next Write or Flush.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 && plainBytes(p) {
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

// pass writes safe text to the underlying writer.
func (w *writer) pass(safe []byte) (int, error) {
	n, err := w.to.Write(safe)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// Flush writes the text held back. It returns the first error of any write.
func (w *writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		safe := w.safe(w.held)
		w.held = nil
		_, _ = w.pass(safe) // pass keeps the error in err
	}
	return w.err
}

// whole returns the length of the text that can be checked without later text.
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

// safe escapes a text, except for allowed styles.
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
