package mask

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// folder reads a text such that all the ways in which a program escapes a value, quotes it
// and breaks it into lines give the same: without blanks, line breaks, quotes and
// backslashes, with %41, \x41, \101 and \u0041 as what they stand for, however often they
// were escaped, and without what a dump has at the beginning of a line (the offset) and at
// its end (the text).
type folder struct {
	text []byte
	// runs say where the text stands, in order: one of each part that is as it was, and one of
	// each byte that was escaped.
	runs  []run
	first int // place of the first byte of text, of all that were folded
	last  int // where what was folded ends in the text

	escape  [8]byte // begun: a backslash or a percent sign, and what follows
	escaped int     // bytes of it
	from    int     // where it began

	high   rune // first half of a pair of surrogates
	highAt int

	line   lineState
	lead   []byte // what may be an offset, at the beginning of a line
	leadAt int
	colon  bool // behind the offset, as xxd has it
	bytes  int  // of data in this line of a dump
	blanks int  // before this byte
}

// run is a part of the folded text.
type run struct {
	at         int // its first byte, of all that were folded
	start, end int // what it was folded from
	dump       bool
}

// place is where a byte of the folded text stands in the text.
type place struct {
	start, end int
	dump       bool // in a line that begins with an offset
}

// where gives the place of a byte of f.text.
func (f *folder) where(i int) place {
	i += f.first
	n := f.run(i)
	r, next := f.runs[n], f.first+len(f.text)
	if n+1 < len(f.runs) {
		next = f.runs[n+1].at
	}
	if r.end-r.start == next-r.at {
		return place{r.start + i - r.at, r.start + i - r.at + 1, r.dump}
	}
	return place{r.start, r.end, r.dump}
}

// take adds a part of the text, and a byte that no needle has where it stands too far from
// what is before it.
func (f *folder) take(part []byte, at place) {
	if at.start-f.last > mostGap {
		f.runs = append(f.runs, run{f.first + len(f.text), at.start, at.start, false})
		f.text = append(f.text, 0)
	}
	f.runs = append(f.runs, run{f.first + len(f.text), at.start, at.end, at.dump})
	f.text = append(f.text, part...)
	f.last = at.end
}

// forget drops the first bytes.
func (f *folder) forget(n int) {
	f.first += n
	f.text = append(f.text[:0], f.text[n:]...)
	if len(f.runs) > 0 {
		f.runs = append(f.runs[:0], f.runs[f.run(f.first):]...)
	}
}

// run is the number of the run of a byte, which mostly is one of the last.
func (f *folder) run(at int) int {
	for n := len(f.runs) - 1; n >= 0 && n >= len(f.runs)-4; n-- {
		if f.runs[n].at <= at {
			return n
		}
	}
	return sort.Search(len(f.runs), func(n int) bool { return f.runs[n].at > at }) - 1
}

type lineState int

const (
	lineBegins lineState = iota
	lineGoesOn
	lineOfDump // behind the offset
	lineColumn // behind the data: the same as text
)

// mostOffset is the most digits of an offset.
const mostOffset = 16

// longestEscape bounds an escape that is escaped again and again.
const longestEscape = 64

// folded is a whole value.
func folded(value string) string {
	f := folder{line: lineGoesOn}
	f.add([]byte(value), 0)
	f.end()
	return string(f.text)
}

// plain are the bytes that stay as they are.
var plain = func() (is [256]bool) {
	for b := range is {
		is[b] = b > ' ' && strings.IndexByte(`%\"'`, byte(b)) < 0
	}
	return is
}()

// add folds the next bytes, which begin at a place.
func (f *folder) add(p []byte, at int) {
	for i := 0; i < len(p); i++ {
		begin := i
		if f.line == lineGoesOn && f.escaped == 0 && f.high == 0 {
			for i < len(p) && plain[p[i]] {
				i++
			}
			if i > begin {
				f.take(p[begin:i], place{at + begin, at + i, false})
			}
			if i == len(p) {
				return
			}
			if p[i] == ' ' {
				continue
			}
		}
		f.inLine(p[i], place{at + i, at + i + 1, false})
	}
}

func (f *folder) inLine(b byte, at place) {
	blank := b == ' ' || b == '\t'
	switch {
	case b == '\n':
		f.end()
		f.line, f.bytes, f.blanks = lineBegins, 0, 0
		return
	case f.line == lineColumn:
		return
	case f.line == lineBegins && blank && len(f.lead) == 0:
		return
	case f.line == lineBegins && len(f.lead) < mostOffset && (digit(b, 16) || b == 'x'):
		if len(f.lead) == 0 {
			f.leadAt = at.start
		}
		f.lead = append(f.lead, b)
		return
	case f.line == lineBegins && (blank && len(f.lead) >= 6 || b == ':' && len(f.lead) >= 4):
		f.line, f.colon, f.lead = lineOfDump, b == ':', f.lead[:0]
		return
	case f.line == lineBegins:
		f.leads()
		f.line = lineGoesOn
	case f.line == lineOfDump && blank:
		f.blanks++
	case f.line == lineOfDump:
		if f.blanks > 0 && b == '|' || f.blanks > 1 && (b == '>' || f.colon && f.bytes > 0) {
			f.line = lineColumn
			return
		}
		f.blanks = 0
		f.bytes++
	}
	at.dump = f.line == lineOfDump
	f.next(b, at)
}

// leads takes what might have been an offset for text.
func (f *folder) leads() {
	lead := f.lead
	f.lead = f.lead[:0]
	for i, b := range lead {
		f.next(b, place{f.leadAt + i, f.leadAt + i + 1, false})
	}
}

// end takes what has begun as it is.
func (f *folder) end() {
	f.leads()
	f.literally(place{f.from, f.from + f.escaped, false})
	f.high = 0
}

func (f *folder) next(b byte, at place) {
	if f.escaped == 0 {
		if b == '\\' || b == '%' {
			f.escape[0], f.escaped, f.from = b, 1, at.start
			return
		}
		f.put(b, at)
		return
	}
	f.escape[f.escaped] = b
	f.escaped++
	digits, base, want := string(f.escape[2:max(f.escaped, 2)]), 16, 2
	switch kind := f.escape[1]; {
	case f.escape[0] == '%':
		digits = string(f.escape[1:f.escaped])
	case kind == '\\': // escaped several times
		if at.start-f.highAt > longestEscape {
			f.high = 0
		}
		f.escaped, f.from = 1, at.start
		return
	case kind == 'u':
		want = 4
	case kind == 'x':
	case digit(kind, 8):
		digits, base, want = string(f.escape[1:f.escaped]), 8, 3
	case strings.IndexByte("nrt", kind) >= 0: // a blank
		f.escaped = 0
		return
	default:
		f.escaped = 0
		f.next(b, place{f.from, at.end, at.dump})
		return
	}
	if digits != "" && !digit(b, base) || at.end-f.from > longestEscape {
		f.escaped--
		f.literally(place{f.from, at.start, at.dump})
		f.next(b, at)
		return
	}
	if len(digits) < want {
		return
	}
	f.escaped = 0
	value, _ := strconv.ParseUint(digits, base, 16) // they are digits
	at.start = f.from
	if want != 4 {
		f.next(byte(value), at)
		return
	}
	r := rune(value)
	if f.high != 0 && utf16.IsSurrogate(r) {
		r, at.start = utf16.DecodeRune(f.high, r), f.highAt
	} else if utf16.IsSurrogate(r) {
		f.high, f.highAt = r, at.start
		return
	}
	for _, c := range utf8.AppendRune(nil, r) {
		f.next(c, at)
	}
}

// literally takes an escape that is none for what it looks like, but for a backslash.
func (f *folder) literally(at place) {
	broken := f.escape[:f.escaped]
	f.escaped = 0
	for _, c := range broken {
		if c != '\\' {
			f.put(c, at)
		}
	}
}

func (f *folder) put(b byte, at place) {
	f.high = 0
	if b > ' ' && b != '"' && b != '\'' && b != '\\' {
		f.take([]byte{b}, at)
	}
}

func digit(b byte, base int) bool {
	return b >= '0' && b <= '9' && int(b-'0') < base || base == 16 && (b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F')
}

// begins is where the first byte stands that is not folded yet, if any.
func (f *folder) begins(end int) int {
	if f.escaped > 0 {
		end = min(end, f.from)
	}
	if f.high != 0 {
		end = min(end, f.highAt)
	}
	if len(f.lead) > 0 {
		end = min(end, f.leadAt)
	}
	return end
}
