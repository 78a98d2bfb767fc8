package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

// answer is what is kept of an HTTP/1.1 answer.
type answer struct {
	status int
	body   int64 // its length, framing removed
	close  bool  // the connection takes no other request
}

// mostHead bounds the status line and the headers of an answer, interim ones included.
const mostHead = 256 << 10

// readAnswer reads one final answer to a request that is not HEAD or CONNECT, to its last
// byte, and throws the body away (RFC 9112). It is strict: lines end with CRLF, header lines
// are not folded, and a length must be said in one way only. What breaks the protocol is a
// *malformed error; any other error is the connection's.
func readAnswer(br *bufio.Reader) (answer, error) {
	head := mostHead
	for {
		a, err := readHead(br, &head)
		if err != nil {
			return answer{}, err
		}
		switch {
		case a.status == http.StatusSwitchingProtocols:
			return answer{}, malformedf("an answer 101 that nobody asked for")
		case a.status < 200:
			if a.chunked || a.length >= 0 {
				return answer{}, malformedf("an interim answer %d with a body", a.status)
			}
			continue
		case a.status == http.StatusNoContent || a.status == http.StatusNotModified:
			return answer{status: a.status, close: a.close}, nil
		}
		done := answer{status: a.status, close: a.close}
		switch {
		case a.chunked:
			done.body, err = skipChunks(br, &head)
		case a.length >= 0:
			done.body, err = skip(br, a.length)
		default: // up to the end of the connection
			done.close = true
			done.body, err = io.Copy(io.Discard, br)
		}
		return done, err
	}
}

// head is what the status line and the headers say.
type head struct {
	status  int
	length  int64 // -1: not said
	chunked bool
	close   bool
}

// readHead reads a status line and headers.
func readHead(br *bufio.Reader, left *int) (head, error) {
	line, err := readLine(br, left)
	if err != nil {
		return head{}, err
	}
	h := head{length: -1}
	var keep bool
	// "HTTP/1.1 200 OK"; the reason may be left out
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return head{}, malformedf("status line %.60q", line)
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return head{}, malformedf("status line %.60q", line)
		}
		h.status = 10*h.status + int(c-'0')
	}
	if h.status < 100 || h.status > 599 {
		return head{}, malformedf("status %d", h.status)
	}
	old := line[7] == '0'
	for {
		if line, err = readLine(br, left); err != nil {
			return head{}, broken(err)
		}
		if len(line) == 0 {
			break
		}
		if err := h.header(line, &keep); err != nil {
			return head{}, err
		}
	}
	if h.chunked && (h.length >= 0 || old) {
		return head{}, malformedf("chunks where there is a length, or HTTP/1.0")
	}
	h.close = h.close || old && !keep
	return h, nil
}

// header takes what matters from one header line.
func (h *head) header(line []byte, keep *bool) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 {
		return malformedf("header line %.60q", line)
	}
	for _, c := range name {
		if !token[c] {
			return malformedf("header line %.60q", line)
		}
	}
	value = bytes.Trim(value, " \t")
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return malformedf("header line %.60q", line)
		}
	}
	switch len(name) {
	case len("Content-Length"):
		if !bytes.EqualFold(name, []byte("Content-Length")) {
			return nil
		}
		n, ok := decimal(value)
		if !ok || h.length >= 0 && h.length != n {
			return malformedf("length %.60q", value)
		}
		h.length = n
	case len("Transfer-Encoding"):
		if !bytes.EqualFold(name, []byte("Transfer-Encoding")) {
			return nil
		}
		if h.chunked || !bytes.EqualFold(value, []byte("chunked")) {
			return malformedf("transfer encoding %.60q: only chunked is known", value)
		}
		h.chunked = true
	case len("Connection"):
		if !bytes.EqualFold(name, []byte("Connection")) {
			return nil
		}
		for option := range bytes.SplitSeq(value, []byte(",")) {
			option = bytes.Trim(option, " \t")
			h.close = h.close || bytes.EqualFold(option, []byte("close"))
			*keep = *keep || bytes.EqualFold(option, []byte("keep-alive"))
		}
	}
	return nil
}

// token holds the bytes of a header's name (RFC 9110, 5.6.2).
var token = func() (t [256]bool) {
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

// mostBody bounds a length, so that sums of them cannot overflow.
const mostBody = 1 << 50

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

// skipChunks reads a body in chunks, and its trailers.
func skipChunks(br *bufio.Reader, left *int) (int64, error) {
	var body int64
	for {
		budget := mostHead // one chunk's line
		line, err := readLine(br, &budget)
		if err != nil {
			return body, broken(err)
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, ok := hexadecimal(bytes.TrimRight(size, " \t"))
		if !ok || body+n > mostBody {
			return body, malformedf("size of a chunk %.60q", line)
		}
		if n == 0 {
			break
		}
		m, err := skip(br, n)
		body += m
		if err != nil {
			return body, err
		}
		if line, err = readLine(br, &budget); err != nil {
			return body, broken(err)
		}
		if len(line) != 0 {
			return body, malformedf("%.60q behind a chunk", line)
		}
	}
	for {
		line, err := readLine(br, left)
		if err != nil {
			return body, broken(err)
		}
		if len(line) == 0 {
			return body, nil
		}
		var trailer head
		if err := (&trailer).header(line, new(bool)); err != nil {
			return body, err
		}
	}
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

// readLine reads a line and takes its CRLF away. The line is good until the next read.
func readLine(br *bufio.Reader, left *int) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, malformedf("a line of more than %d bytes", br.Size())
		}
		if len(line) > 0 {
			return nil, broken(err)
		}
		return nil, err
	}
	if *left -= len(line); *left < 0 {
		return nil, malformedf("more than %d bytes of headers", mostHead)
	}
	if len(line) < 2 || line[len(line)-2] != '\r' {
		return nil, malformedf("a line %.60q that does not end with CRLF", line)
	}
	return line[:len(line)-2], nil
}

// skip throws n bytes away.
func skip(br *bufio.Reader, n int64) (int64, error) {
	var done int64
	for done < n {
		m, err := br.Discard(int(min(n-done, 1<<30)))
		done += int64(m)
		if err != nil {
			return done, broken(err)
		}
	}
	return done, nil
}

// broken is the error of a connection in the middle of an answer.
func broken(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
