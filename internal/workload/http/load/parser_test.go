package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// parse parses text in pieces of a size, up to the end of the first response. If ended is set, the connection ends
// after the text.
func parse(text []byte, piece int, ended bool) (a response, done bool, rest int, err error) {
	p := new(responseParser)
	for {
		space := p.space()
		n := copy(space[:min(len(space), piece)], text)
		text = text[n:]
		p.added(n)
		if a, done, err = p.next(); done || err != nil {
			return a, done, p.pending() + len(text), err
		}
		if n == 0 {
			break
		}
	}
	if ended {
		a, done, err = p.end()
	}
	return a, done, 0, err
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		text string
		want response
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", response{200, 2, false}},
		{"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", response{200, 0, false}},
		{"HTTP/1.1 204 No\r\n\r\n", response{204, 0, false}},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", response{304, 0, false}},
		{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", response{200, 1, false}},
		{"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx", response{200, 1, true}},
		{"HTTP/1.1 200 OK\r\nConnection: a, close\r\nContent-Length: 1\r\n\r\nx", response{200, 1, true}},
		{"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", response{200, 1, true}},
		{"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", response{200, 1, false}},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", response{200, 13, false}},
		{"HTTP/1.1 500 Oh\r\n\r\nto the end", response{500, 10, true}},
	} {
		for _, piece := range []int{1, 2, 7, 1 << 20} {
			a, done, rest, err := parse([]byte(test.text), piece, true)
			if a != test.want || !done || rest != 0 || err != nil {
				t.Errorf("%q in pieces of %d: %v, %v, %d left, %v", test.text, piece, a, done, rest, err)
			}
		}
	}
	long := "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1_000_000)
	if a, done, _, err := parse([]byte(long), 1<<20, false); a.body != 1_000_000 || !done || err != nil {
		t.Errorf("a long body: %v %v %v", a, done, err)
	}
}

func TestAnswersMalformed(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for text, want := range map[string]string{
		"HTTP/2 200 OK\r\n":                                            "status line",
		"HTTP/1.1 2000 OK\r\n":                                         "status line",
		"HTTP/1.1 999 OK\r\n":                                          "status line",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":                     "101",
		ok + "Content-Length: -1\r\n":                                  "length",
		ok + "Content-Length: 1, 1\r\n":                                "length",
		ok + "Content-Length: 99999999999999999999\r\n":                "length",
		ok + "Content-Length : 1\r\n":                                  "header line",
		ok + " folded: 1\r\n":                                          "header line",
		ok + "A: b\x00\r\n":                                            "header line",
		ok + "Transfer-Encoding: gzip, chunked\r\n":                    "transfer encoding",
		ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n": "chunked although",
		ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\n":                "chunk size",
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n":           "after a chunk",
		ok + strings.Repeat("A: b\r\n", 60_000):                        "more than 262144 bytes",
	} {
		for _, piece := range []int{3, 1 << 20} {
			_, done, _, err := parse([]byte(text), piece, true)
			if done || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.60q in pieces of %d: %v, %v, not %q", text, piece, done, err, want)
			}
		}
	}
}

// A response is parsed in the same way whatever the size of its pieces. If it is complete, net/http parses it
// too, with the same status and length.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 404 No\r\nConnection: keep-alive\r\n\r\nx", "HTTP/1.1 204 x\r\n\r\n",
	} {
		f.Add([]byte(text), 5)
	}
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		a, done, rest, err := parse(text, 1<<20, true)
		b, alsoDone, alsoRest, alsoErr := parse(text, max(1, piece%64), true)
		if a != b || done != alsoDone || rest != alsoRest || (err == nil) != (alsoErr == nil) {
			t.Fatalf("in one: %v %v %d %v; in pieces: %v %v %d %v", a, done, rest, err, b, alsoDone, alsoRest, alsoErr)
		}
		if !done {
			return
		}
		br := bufio.NewReader(bytes.NewReader(text))
		for {
			r, err := http.ReadResponse(br, nil) //nolint:bodyclose // what it reads from is memory
			if err != nil {
				t.Fatalf("%v, but net/http says %v", a, err)
			}
			if r.StatusCode < 200 {
				continue
			}
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil || r.StatusCode != a.status || n != a.body {
				t.Fatalf("%v, but net/http says status %d, %d bytes, %v", a, r.StatusCode, n, err)
			}
			return
		}
	})
}
