package mask

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// folder reads a text such that all the ways in which a program escapes a value, quotes it
// and breaks it into lines give the same: without blanks, line breaks and quotes, with %41,
// \x41, \101 and \u0041 as what they stand for and \" and \\ without the backslash, however
// often they were escaped, and without what a dump has at the beginning of a line (an offset)
// and at its end (the bytes as text).
type folder struct {
	text  []byte
	place []place // of each byte
	floor int     // where the line begins in text
	mark  int     // behind the last backslash or percent sign, or later
	last  int     // where what was folded ends in the text that is read

	line          lineState
	colon         bool // behind the offset, as xxd has it
	data, columns int  // in a line of a dump: bytes behind the offset, and blanks before the next
}

// place is where a folded byte stands in the text that is read.
type place struct{ start, end int }

type lineState int

const (
	lineBegins lineState = iota
	lineGoesOn
	lineOfDump // behind an offset
	lineEnds   // behind the data of a dump
)

const (
	mostGap       = 256 // most bytes between two of a folded secret
	longestOffset = 16
	longestLine   = 512 // most bytes of a line of a dump
	longestEscape = 6   // of one that is not itself escaped: \u0041
	digits        = "0123456789abcdefABCDEF"
)

// escapes are the ways to write a byte, or a character, by its number.
var escapes = []struct {
	mark         string
	digits, base int
}{{"%", 2, 16}, {`\x`, 2, 16}, {`\u`, 4, 16}, {`\`, 3, 8}}

// folded is a whole value.
func folded(value string) string {
	f := folder{line: lineGoesOn}
	f.add([]byte(value), 0)
	return strings.TrimRight(string(f.text), `\`)
}

func dropped(b byte) bool { return b <= ' ' || b == '"' || b == '\'' }

// plain are the bytes that stay as they are, unless they end an escape.
var plain = func() (is [256]bool) {
	for b := range is {
		is[b] = !dropped(byte(b)) && b != '\\' && b != '%'
	}
	return is
}()

// add folds the next bytes, which begin at a place.
func (f *folder) add(p []byte, at int) {
	for i := 0; i < len(p); i++ {
		b, here := p[i], place{at + i, at + i + 1}
		if here.start-f.last > mostGap { // with a byte that no needle has
			f.text, f.place, f.last = append(f.text, 0), append(f.place, here), here.end
		}
		if f.line != lineGoesOn && f.outside(b, here) {
			continue
		}
		if f.line == lineGoesOn && plain[b] && len(f.text)-f.mark >= longestEscape { // most bytes
			begin, places := i, f.place
			for ; i < len(p) && plain[p[i]]; i++ {
				places = append(places, place{at + i, at + i + 1})
			}
			f.text, f.place, f.last = append(f.text, p[begin:i]...), places, at+i
			i--
			continue
		}
		if f.put(b, here); b == '\n' {
			f.line, f.data, f.columns, f.floor = lineBegins, 0, 0, len(f.text)
		}
	}
}

// outside says whether a byte at the beginning of a line, or in a dump, is none of the data.
func (f *folder) outside(b byte, at place) bool {
	blank, lead := b == ' ' || b == '\t', len(f.text)-f.floor
	switch {
	case b == '\n':
	case f.line == lineBegins && (blank && lead == 0 || lead < longestOffset && strings.IndexByte(digits+"x", b) >= 0):
	case f.line == lineBegins && (blank && lead >= 6 || b == ':' && lead >= 4):
		f.text, f.place = f.text[:f.floor], f.place[:f.floor]
		f.line, f.colon = lineOfDump, b == ':'
		return true
	case f.line == lineBegins || f.columns > mostGap || f.data > longestLine: // nothing is held back for ever
		f.line = lineGoesOn
	case f.line == lineEnds, f.data > 0 && f.data%2 == 0 && !blank && (f.columns > 0 && b == '|' || f.columns > 1 && (b == '>' || f.colon)):
		f.line, f.columns = lineEnds, f.columns+1
		for i := f.floor; i < len(f.place); i++ { // what is found in the line takes its text along
			f.place[i].end = at.end
		}
		return true
	case blank:
		f.columns++
	case strings.IndexByte(digits, b) < 0: // no dump, or one of characters
		f.line = lineGoesOn
	default:
		f.columns, f.data = 0, f.data+1
	}
	return false
}

// put takes a byte behind others, with which it may be an escape. However often something is
// escaped, it begins at most mostGap before its end: what is held back for it has an end.
func (f *folder) put(b byte, at place) {
	n := len(f.text)
	if n > f.floor && f.text[n-1] == '\\' && strings.IndexByte("ux01234567", b) < 0 {
		n--
		at.start = max(f.place[n].start, at.end-mostGap)
		f.text, f.place = f.text[:n], f.place[:n]
		if strings.IndexByte("nrt", b) >= 0 {
			return
		}
	}
	if dropped(b) {
		return
	}
	f.text, f.place, f.last = append(f.text, b), append(f.place, at), max(f.last, at.end)
	if n++; b == '\\' || b == '%' {
		f.mark = n
	}
	for _, e := range escapes {
		i := n - len(e.mark) - e.digits
		if i < f.floor || !bytes.HasPrefix(f.text[i:], []byte(e.mark)) {
			continue
		}
		number, err := strconv.ParseUint(string(f.text[i+len(e.mark):]), e.base, 32)
		if err != nil {
			continue
		}
		at.start = max(f.place[i].start, at.end-mostGap)
		f.text, f.place = f.text[:i], f.place[:i]
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

// sure is how much of the folded text stays, whatever follows.
func (f *folder) sure() int {
	if f.line != lineGoesOn {
		return f.floor
	}
	return max(len(f.text)-longestOffset, 0)
}

// forget drops what was folded before a place, and is sure.
func (f *folder) forget(before int) {
	n, sure := 0, f.sure()
	for n < sure && f.place[n].start < before {
		n++
	}
	f.text, f.place = append(f.text[:0], f.text[n:]...), append(f.place[:0], f.place[n:]...)
	f.floor, f.mark = max(f.floor-n, 0), f.mark-n
}
