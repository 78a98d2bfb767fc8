package load

import (
	"bytes"
	"io"
	"net/http"
)

// response is the part of an HTTP/1.1 response that the generator uses.
type response struct {
	status int
	body   int64 // length of the body in bytes, without framing
	close  bool  // the connection takes no more requests
}

// Bounds of a response.
const (
	readBuffer = 16 << 10  // size of the read buffer in bytes; no line may be longer
	mostHead   = 256 << 10 // bytes of status line, headers and trailers, interim responses included
	mostBody   = 1 << 50   // bytes of a body; the bound keeps sums of lengths from overflowing
)

// responseParser parses the responses of one connection strictly (RFC 9112), and drops bodies. It does not fit HEAD or
// CONNECT. The caller reads bytes into space(), and calls added and next.
type responseParser struct {
	buf    [readBuffer]byte
	r, w   int // buf[r:w] holds bytes that are read, but not parsed yet
	state  func(*responseParser) (more bool, err error)
	head   head
	budget int   // bytes that the head may still take
	left   int64 // bytes of the body or chunk that are still to come; -1: the body ends with the connection
	body   int64 // bytes of the body so far
}

type head struct {
	status  int
	http10  bool
	length  int64 // length of the body in bytes; -1: no header gives the length
	chunked bool
	close   bool
	keep    bool
}

// space returns the free part of the buffer, into which the caller reads the next bytes. After a call of the method
// next, it is never empty.
func (p *responseParser) space() []byte { return p.buf[p.w:] }

func (p *responseParser) added(n int) { p.w += n }

func (p *responseParser) pending() int { return p.w - p.r }

// next parses the bytes read so far, at most to the end of a response. done: the response is complete. After an error
// the parser must not be used.
func (p *responseParser) next() (a response, done bool, err error) {
	if p.state == nil && p.pending() > 0 {
		p.state, p.budget, p.body = (*responseParser).statusLine, mostHead, 0
	}
	for more := true; more && p.state != nil; {
		if more, err = p.state(p); err != nil {
			return response{}, false, err
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
		return response{}, false, nil
	}
	return response{status: p.head.status, body: p.body, close: p.head.close}, true, nil
}

// end is called when the connection has ended. It returns a response without a length, or an error: io.EOF between
// responses, io.ErrUnexpectedEOF inside one.
func (p *responseParser) end() (a response, done bool, err error) {
	if p.state != nil && p.left < 0 {
		p.state = nil
		return response{status: p.head.status, body: p.body, close: true}, true, nil
	}
	if p.state != nil || p.pending() > 0 {
		return response{}, false, io.ErrUnexpectedEOF
	}
	return response{}, false, io.EOF
}

// line returns the next line without its CRLF. The returned bytes are overwritten when more is read.
func (p *responseParser) line() (line []byte, ok bool, err error) {
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

// statusLine parses a line such as "HTTP/1.1 200 OK", with or without the reason.
func (p *responseParser) statusLine() (bool, error) {
	line, ok, err := p.line()
	if !ok {
		return false, err
	}
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return false, malformedf("status line %.60q", line)
	}
	code, ok := number(line[9:12], 10)
	if !ok || code < 100 || code > 599 {
		return false, malformedf("status line %.60q", line)
	}
	p.left = 0
	p.head = head{status: int(code), http10: line[7] == '0', length: -1}
	p.state = (*responseParser).headerLine
	return true, nil
}

func (p *responseParser) headerLine() (bool, error) {
	line, ok, err := p.line()
	if !ok {
		return false, err
	}
	if len(line) > 0 {
		return true, p.head.header(line)
	}
	h := &p.head
	if h.chunked && (h.length >= 0 || h.http10) {
		return false, malformedf("chunked although there is a length, or in HTTP/1.0")
	}
	h.close = h.close || h.http10 && !h.keep
	switch {
	case h.status == http.StatusSwitchingProtocols:
		return false, malformedf("a response 101, which was not asked for")
	case h.status < 200 && (h.chunked || h.length >= 0):
		return false, malformedf("an interim response %d with a body", h.status)
	case h.status < 200:
		p.state = (*responseParser).statusLine
	case h.status == http.StatusNoContent || h.status == http.StatusNotModified || h.length == 0:
		p.state = nil
	case h.chunked:
		p.state = (*responseParser).chunkSize
	default:
		p.state, p.left = (*responseParser).plain, h.length // length −1: the body has no given length and ends with the connection
	}
	return true, nil
}

func (p *responseParser) plain() (bool, error) {
	p.skip()
	if p.left == 0 {
		p.state = nil
	}
	return false, nil
}

// skip drops the bytes of the body or chunk that were read so far.
func (p *responseParser) skip() {
	n := int64(p.pending())
	if p.left >= 0 {
		n = min(n, p.left)
		p.left -= n
	}
	p.r += int(n)
	p.body += n
}

func (p *responseParser) chunkSize() (bool, error) {
	budget := p.budget
	line, ok, err := p.line()
	p.budget = budget // lines with chunk sizes do not use up the budget, which is for the head
	if !ok {
		return false, err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, ok := number(bytes.TrimRight(size, " \t"), 16)
	if !ok || p.body+n > mostBody {
		return false, malformedf("chunk size %.60q", line)
	}
	if p.left = n; n == 0 {
		p.state = (*responseParser).trailerLine
	} else {
		p.state = (*responseParser).chunk
	}
	return true, nil
}

func (p *responseParser) chunk() (bool, error) {
	p.skip()
	if p.left > 0 {
		return false, nil
	}
	p.state = (*responseParser).chunkEnd
	return true, nil
}

func (p *responseParser) chunkEnd() (bool, error) {
	budget := p.budget
	line, ok, err := p.line()
	p.budget = budget
	if !ok {
		return false, err
	}
	if len(line) > 0 {
		return false, malformedf("%.60q after a chunk", line)
	}
	p.state = (*responseParser).chunkSize
	return true, nil
}

func (p *responseParser) trailerLine() (bool, error) {
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
	case sameName(name, "Content-Length"):
		n, ok := number(value, 10)
		if !ok || h.length >= 0 && h.length != n {
			return malformedf("length %.60q", value)
		}
		h.length = n
	case sameName(name, "Transfer-Encoding"):
		if h.chunked || !sameName(value, "chunked") {
			return malformedf("transfer encoding %.60q: only chunked is known", value)
		}
		h.chunked = true
	case sameName(name, "Connection"):
		for option := range bytes.SplitSeq(value, []byte(",")) {
			option = bytes.Trim(option, " \t")
			h.close = h.close || sameName(option, "close")
			h.keep = h.keep || sameName(option, "keep-alive")
		}
	}
	return nil
}

// sameName reports whether a text is the given name in upper or lower case. It compares the lengths first, since most
// names differ in length.
func sameName(text []byte, name string) bool {
	return len(text) == len(name) && bytes.EqualFold(text, []byte(name))
}

// token marks the bytes that a header name may have (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

// number parses a number of at least one digit, to base 10 or 16.
func number(text []byte, base int64) (int64, bool) {
	var n int64
	for _, c := range text {
		digit, letter := c-'0', c|0x20
		switch {
		case c >= '0' && c <= '9':
		case base == 16 && letter >= 'a' && letter <= 'f':
			digit = letter - 'a' + 10
		default:
			return 0, false
		}
		if n = base*n + int64(digit); n > mostBody {
			return 0, false
		}
	}
	return n, len(text) > 0
}
