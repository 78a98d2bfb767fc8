package mask

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// folder folds a text, so that all ways to escape, quote and wrap a value look alike. It drops blanks, quotes, and the
// offsets and right side of hex dumps. It decodes escapes such as %41, \x41, \101 and \u0041.
type folder struct {
	text      []byte
	positions []position // position in the original text of each byte of the folded text
	lineStart int        // index in field text at which the current line starts
	escape    int        // index in field text after the last backslash or percent sign
	last      int        // position in the original text up to which the text is folded

	line  lineState
	colon bool // the offset of the dump's line ends with a colon, as xxd writes it
	// If the line is one of a dump: data counts the line's digits so far, without those of the offset. columns counts
	// the blanks since the last digit.
	data, columns int
}

type position struct{ start, end int }

type lineState int

const (
	lineBegins lineState = iota
	lineGoesOn
	lineOfDump // in the data of a dump's line, after its offset
	lineEnds   // a line of a dump, in the characters at the line's right end
)

const (
	mostGap       = 256 // largest number of original bytes between two bytes of one secret
	longestOffset = 16
	longestLine   = 512 // largest number of digits in a line of a dump
	longestEscape = 6   // length of the longest simple escape, such as \u0041
	digits        = "0123456789abcdefABCDEF"
)

var escapes = []struct {
	mark         string
	digits, base int
}{{"%", 2, 16}, {`\x`, 2, 16}, {`\u`, 4, 16}, {`\`, 3, 8}}

func folded(value string) string {
	f := folder{line: lineGoesOn}
	f.add([]byte(value), 0)
	return strings.TrimRight(string(f.text), `\`)
}

func dropped(b byte) bool { return b <= ' ' || b == '"' || b == '\'' }

// plain holds the bytes that folding copies unchanged. Such a byte may still be the last one of an escape.
var plain = func() (is [256]bool) {
	for b := range is {
		is[b] = !dropped(byte(b)) && b != '\\' && b != '%'
	}
	return is
}()

// add folds p, the next bytes of a text. start is the position of p's first byte in the original text.
func (f *folder) add(p []byte, start int) {
	for i := 0; i < len(p); i++ {
		b, here := p[i], position{start + i, start + i + 1}
		if here.start-f.last > mostGap { // after a large gap, a zero byte separates the texts: no secret contains a zero byte
			f.text, f.positions, f.last = append(f.text, 0), append(f.positions, here), here.end
		}
		if f.line != lineGoesOn && f.outside(b, here) {
			continue
		}
		// fast path for most bytes: it copies a series of plain bytes if no escape is near
		if f.line == lineGoesOn && plain[b] && len(f.text)-f.escape >= longestEscape {
			begin, places := i, f.positions
			for ; i < len(p) && plain[p[i]]; i++ {
				places = append(places, position{start + i, start + i + 1})
			}
			f.text, f.positions, f.last = append(f.text, p[begin:i]...), places, start+i
			i--
			continue
		}
		if f.put(b, here); b == '\n' {
			f.line, f.data, f.columns, f.lineStart = lineBegins, 0, 0, len(f.text)
		}
	}
}

// outside reports whether folding drops a byte that is no data of a dump: part of the offset, or of the characters at
// the line's end.
func (f *folder) outside(b byte, at position) bool {
	blank, lead := b == ' ' || b == '\t', len(f.text)-f.lineStart
	switch {
	case b == '\n':
	case f.line == lineBegins && (blank && lead == 0 || lead < longestOffset && strings.IndexByte(digits+"x", b) >= 0):
	case f.line == lineBegins && (blank && lead >= 6 || b == ':' && lead >= 4):
		f.text, f.positions = f.text[:f.lineStart], f.positions[:f.lineStart]
		f.line, f.colon = lineOfDump, b == ':'
		return true
	// no dump; without these limits, the text that is held back could grow without end
	case f.line == lineBegins || f.columns > mostGap || f.data > longestLine:
		f.line = lineGoesOn
	case f.line == lineEnds, f.data > 0 && f.data%2 == 0 && !blank && (f.columns > 0 && b == '|' || f.columns > 1 && (b == '>' || f.colon)):
		f.line, f.columns = lineEnds, f.columns+1
		// A dump shows a secret in its digits and again in the characters at the line's end. The extended positions
		// mask both.
		for i := f.lineStart; i < len(f.positions); i++ {
			f.positions[i].end = at.end
		}
		return true
	case blank:
		f.columns++
	case strings.IndexByte(digits, b) < 0: // the line is no dump, or a dump of characters (od -c)
		f.line = lineGoesOn
	default:
		f.columns, f.data = 0, f.data+1
	}
	return false
}

// put appends a byte to the decoded text, and decodes an escape that it completes. A decoded byte spans at most mostGap
// bytes of the original.
func (f *folder) put(b byte, at position) {
	n := len(f.text)
	if n > f.lineStart && f.text[n-1] == '\\' && strings.IndexByte("ux01234567", b) < 0 {
		n--
		at.start = max(f.positions[n].start, at.end-mostGap)
		f.text, f.positions = f.text[:n], f.positions[:n]
		if strings.IndexByte("nrt", b) >= 0 {
			return
		}
	}
	if dropped(b) {
		return
	}
	f.text, f.positions, f.last = append(f.text, b), append(f.positions, at), max(f.last, at.end)
	if n++; b == '\\' || b == '%' {
		f.escape = n
	}
	for _, e := range escapes {
		i := n - len(e.mark) - e.digits
		if i < f.lineStart || !bytes.HasPrefix(f.text[i:], []byte(e.mark)) {
			continue
		}
		number, err := strconv.ParseUint(string(f.text[i+len(e.mark):]), e.base, 32)
		if err != nil {
			continue
		}
		at.start = max(f.positions[i].start, at.end-mostGap)
		f.text, f.positions = f.text[:i], f.positions[:i]
		written := []byte{byte(number)}
		if e.digits == 4 {
			written = utf8.AppendRune(nil, rune(number))
		}
		for _, c := range written {
			f.put(c, at)
		}
		return
	}
}

// final returns the number of bytes at the start of the folded text that later bytes cannot change.
func (f *folder) final() int {
	if f.line != lineGoesOn {
		return f.lineStart
	}
	return max(len(f.text)-longestOffset, 0)
}

// forget drops the folded bytes that lie before a position of the original text. It keeps bytes that later bytes may
// still change.
func (f *folder) forget(before int) {
	n, sure := 0, f.final()
	for n < sure && f.positions[n].start < before {
		n++
	}
	f.text, f.positions = append(f.text[:0], f.text[n:]...), append(f.positions[:0], f.positions[n:]...)
	f.lineStart, f.escape = max(f.lineStart-n, 0), f.escape-n
}
