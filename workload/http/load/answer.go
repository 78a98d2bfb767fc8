package load

import (
	"bytes"
	"io"
	"net/http"
)

// answer is what is kept of an HTTP/1.1 answer.
type answer struct {
	status int
	body   int64 // its length, framing removed
	close  bool  // the connection takes no other request
}

// Bounds of what is read.
const (
	readBuffer = 16 << 10  // the longest line
	mostHead   = 256 << 10 // status line and headers of an answer, interim ones and trailers included
	mostBody   = 1 << 50   // so that sums of lengths cannot overflow
)

// answers parses the answers of one connection, to requests that are not HEAD or CONNECT, and
// throws their bodies away (RFC 9112). Bytes are read into space, added counts them, and next
// goes as far as they reach. It is strict: lines end with CRLF, header lines are not folded,
// and a length must be said in one way only.
type answers struct {
	buf    [readBuffer]byte
	r, w   int // what of buf is not parsed yet
	state  func(*answers) (more bool, err error)
	head   head
	budget int   // bytes of head that are left
	left   int64 // of the body, or of the chunk
	body   int64 // so far
}

// head is what the status line and the headers say.
type head struct {
	status  int
	old     bool  // HTTP/1.0
	length  int64 // -1: not said
	chunked bool
	close   bool
	keep    bool
}

func newAnswers() *answers { return &answers{} }

// space is where to read to. It is never empty after next.
func (p *answers) space() []byte { return p.buf[p.w:] }

// added says that so many bytes were read into space.
func (p *answers) added(n int) { p.w += n }

// pending is the number of bytes that were not parsed.
func (p *answers) pending() int { return p.w - p.r }

// begun says whether a part of an answer was seen.
func (p *answers) begun() bool { return p.state != nil || p.pending() > 0 }

// next parses what there is. done: an answer is complete. What breaks the protocol is a
// *malformed error, after which nothing more may be parsed.
func (p *answers) next() (a answer, done bool, err error) {
	if p.state == nil && p.pending() > 0 {
		p.state, p.budget, p.body = (*answers).statusLine, mostHead, 0
	}
	for more := true; more && p.state != nil; {
		if more, err = p.state(p); err != nil {
			return answer{}, false, err
		}
		if p.state == nil {
			done = true
		}
	}
	switch {
	case p.r == p.w:
		p.r, p.w = 0, 0
	case p.r > 0 && p.w == len(p.buf):
		p.w = copy(p.buf[:], p.buf[p.r:p.w])
		p.r = 0
	}
	if !done {
		return answer{}, false, nil
	}
	return answer{status: p.head.status, body: p.body, close: p.head.close}, true, nil
}

// end is called where the connection has ended. done: that completes an answer, whose
// length was not said.
func (p *answers) end() (a answer, done bool, err error) {
	if p.state != nil && p.toTheEnd() {
		p.state = nil
		return answer{status: p.head.status, body: p.body, close: true}, true, nil
	}
	if p.begun() {
		return answer{}, false, io.ErrUnexpectedEOF
	}
	return answer{}, false, io.EOF
}

// toTheEnd says whether the body that is being read ends with the connection.
func (p *answers) toTheEnd() bool { return p.left < 0 }

// line takes a line without its CRLF. It is good until space is used.
func (p *answers) line() (line []byte, ok bool, err error) {
	rest := p.buf[p.r:p.w]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		if len(rest) == len(p.buf) {
			return nil, false, malformedf("a line of more than %d bytes", len(p.buf))
		}
		return nil, false, nil
	}
	p.r += n + 1
	if p.budget -= n + 1; p.budget < 0 {
		return nil, false, malformedf("more than %d bytes of headers", mostHead)
	}
	if n == 0 || rest[n-1] != '\r' {
		return nil, false, malformedf("a line %.60q that does not end with CRLF", rest[:n+1])
	}
	return rest[:n-1], true, nil
}

// statusLine reads "HTTP/1.1 200 OK", whose reason may be left out.
func (p *answers) statusLine() (bool, error) {
	line, ok, err := p.line()
	if !ok {
		return false, err
	}
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return false, malformedf("status line %.60q", line)
	}
	code, ok := decimal(line[9:12])
	if !ok || code < 100 || code > 599 {
		return false, malformedf("status line %.60q", line)
	}
	p.left = 0
	p.head = head{status: int(code), old: line[7] == '0', length: -1}
	p.state = (*answers).headerLine
	return true, nil
}

func (p *answers) headerLine() (bool, error) {
	line, ok, err := p.line()
	if !ok {
		return false, err
	}
	if len(line) > 0 {
		return true, p.head.header(line)
	}
	h := &p.head
	if h.chunked && (h.length >= 0 || h.old) {
		return false, malformedf("chunks where there is a length, or HTTP/1.0")
	}
	h.close = h.close || h.old && !h.keep
	switch {
	case h.status == http.StatusSwitchingProtocols:
		return false, malformedf("an answer 101 that nobody asked for")
	case h.status < 200 && (h.chunked || h.length >= 0):
		return false, malformedf("an interim answer %d with a body", h.status)
	case h.status < 200:
		p.state = (*answers).statusLine
	case h.status == http.StatusNoContent || h.status == http.StatusNotModified || h.length == 0:
		p.state = nil
	case h.chunked:
		p.state = (*answers).chunkSize
	default:
		p.state, p.left = (*answers).plain, h.length // -1: to the end
	}
	return true, nil
}

// plain skips a body that is not chunked.
func (p *answers) plain() (bool, error) {
	p.skip()
	if p.left == 0 {
		p.state = nil
	}
	return false, nil
}

// skip throws away what there is of the body, or of the chunk.
func (p *answers) skip() {
	n := int64(p.pending())
	if p.left >= 0 {
		n = min(n, p.left)
		p.left -= n
	}
	p.r += int(n)
	p.body += n
}

func (p *answers) chunkSize() (bool, error) {
	budget := p.budget
	line, ok, err := p.line()
	p.budget = budget // there may be many chunks
	if !ok {
		return false, err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := hexadecimal(bytes.TrimRight(size, " \t"))
	if !ok || p.body+n > mostBody {
		return false, malformedf("size of a chunk %.60q", line)
	}
	if p.left = n; n == 0 {
		p.state = (*answers).trailerLine
	} else {
		p.state = (*answers).chunk
	}
	return true, nil
}

func (p *answers) chunk() (bool, error) {
	p.skip()
	if p.left > 0 {
		return false, nil
	}
	p.state = (*answers).chunkEnd
	return true, nil
}

func (p *answers) chunkEnd() (bool, error) {
	budget := p.budget
	line, ok, err := p.line()
	p.budget = budget
	if !ok {
		return false, err
	}
	if len(line) > 0 {
		return false, malformedf("%.60q behind a chunk", line)
	}
	p.state = (*answers).chunkSize
	return true, nil
}

func (p *answers) trailerLine() (bool, error) {
	line, ok, err := p.line()
	if !ok {
		return false, err
	}
	if len(line) > 0 {
		ignored := head{length: -1}
		return true, ignored.header(line)
	}
	p.state = nil
	return true, nil
}

// header takes what matters from one header line.
func (h *head) header(line []byte) error {
	n := bytes.IndexByte(line, ':')
	if n <= 0 {
		return malformedf("header line %.60q", line)
	}
	name, value := line[:n], bytes.Trim(line[n+1:], " \t")
	for _, c := range name {
		if !token[c] {
			return malformedf("header line %.60q", line)
		}
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return malformedf("header line %.60q", line)
		}
	}
	switch {
	case is(name, "Content-Length"):
		n, ok := decimal(value)
		if !ok || h.length >= 0 && h.length != n {
			return malformedf("length %.60q", value)
		}
		h.length = n
	case is(name, "Transfer-Encoding"):
		if h.chunked || !is(value, "chunked") {
			return malformedf("transfer encoding %.60q: only chunked is known", value)
		}
		h.chunked = true
	case is(name, "Connection"):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			option = bytes.Trim(option, " \t")
			h.close = h.close || is(option, "close")
			h.keep = h.keep || is(option, "keep-alive")
		}
	}
	return nil
}

// is compares without regard to case, first by length, which most differ in.
func is(text []byte, name string) bool {
	return len(text) == len(name) && bytes.EqualFold(text, []byte(name))
}

// token holds the bytes of a header's name (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

// decimal reads a number of at least one digit.
func decimal(text []byte) (int64, bool) {
	var n int64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = 10*n + int64(c-'0'); n > mostBody {
			return 0, false
		}
	}
	return n, len(text) > 0
}

// hexadecimal reads the size of a chunk.
func hexadecimal(text []byte) (int64, bool) {
	var n int64
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		if n = n<<4 | int64(c); n > mostBody {
			return 0, false
		}
	}
	return n, len(text) > 0
}
