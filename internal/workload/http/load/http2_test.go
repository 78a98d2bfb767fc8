package load

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// canned is a connection whose server has already sent all its bytes.
type canned struct {
	net.Conn
	said io.Reader
}

func (c *canned) Read(p []byte) (int, error)      { return c.said.Read(p) }
func (c *canned) Write(p []byte) (int, error)     { return len(p), nil }
func (c *canned) Close() error                    { return nil }
func (c *canned) SetReadDeadline(time.Time) error { return nil }

// hear has a connection with two requests under way read a server's bytes, and returns the result.
func hear(t testing.TB, said []byte) *Result {
	t.Helper()
	s, err := Open(Config{URL: "http://127.0.0.1:1/", Protocol: H2, Connections: 1, Streams: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := newActiveSpan(s, Span{Workers: 2, Duration: time.Hour})
	r.underWay, r.over = 2, true
	l := s.connections[0]
	k := newLink(l)
	defer k.cancel()
	conn := &canned{said: bytes.NewReader(said)}
	k.raw = conn
	h := newHTTP2(k, conn)
	k.wire, l.link = h, k
	for _, sl := range s.slots {
		sl.send(r, due{}, 0)
	}
	k.ended(h.read())
	<-r.done // refused requests are sent again, to an address where no server listens
	result := r.result()
	consistent(t, result)
	return result
}

// frames encodes a server's frames.
func frames(write func(*http2.Framer)) []byte {
	var b bytes.Buffer
	f := http2.NewFramer(&b, nil)
	_ = f.WriteSettings()
	write(f)
	return b.Bytes()
}

// block encodes headers.
func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

func headers(id uint32, end bool, fields ...string) func(*http2.Framer) {
	return func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
	}
}

// spoken lists frames that servers send, and how the first request ends by them.
var spoken = map[string]struct {
	write func(*http2.Framer)
	kind  Kind
}{
	"well": {headers(1, true, ":status", "200"), ""},
	"with a body": {func(f *http2.Framer) {
		headers(1, false, ":status", "200", "content-length", "2")(f)
		_ = f.WriteDataPadded(1, true, []byte("ok"), make([]byte, 9))
	}, ""},
	"interim":  {func(f *http2.Framer) { headers(1, false, ":status", "103")(f); headers(1, true, ":status", "200")(f) }, ""},
	"trailers": {func(f *http2.Framer) { headers(1, false, ":status", "200")(f); headers(1, true, "a", "b")(f) }, ""},
	"in pieces": {func(f *http2.Framer) {
		b := block(":status", "200")
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b[:0], EndStream: true})
		_ = f.WriteContinuation(1, true, b)
	}, ""},
	"status":    {headers(1, true, ":status", "503"), "status-503"},
	"no status": {headers(1, true, "a", "b"), Malformed},
	"twice":     {func(f *http2.Framer) { headers(1, false, ":status", "200")(f); headers(1, false, ":status", "200")(f) }, Malformed},
	"length": {func(f *http2.Framer) {
		headers(1, false, ":status", "200", "content-length", "3")(f)
		_ = f.WriteData(1, true, []byte("ok"))
	}, Malformed},
	"body first": {func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("ok")) }, Malformed},
	"reset":      {func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeInternal) }, Closed},
	"goes away": {func(f *http2.Framer) {
		_ = f.WriteGoAway(1, http2.ErrCodeNo, nil)
		headers(1, true, ":status", "200")(f)
	}, ""},
	"unasked": {headers(7, true, ":status", "200"), Malformed},
	"push": {func(f *http2.Framer) {
		_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
	}, Malformed},
	"window": {func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 1<<31-1) }, Malformed},
	"bad headers": {func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff}, EndHeaders: true})
	}, Malformed},
	"mixed frames": {func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(":status", "200")})
		_ = f.WritePing(false, [8]byte{})
	}, Malformed},
	"says no more":  {func(*http2.Framer) {}, Closed},
	"no status yet": {headers(1, true, ":status", "103"), Malformed},
}

func TestHTTP2Answers(t *testing.T) {
	for name, test := range spoken {
		t.Run(name, func(t *testing.T) {
			r := hear(t, frames(test.write))
			if test.kind == "" && r.OK != 1 || test.kind != "" && (r.OK != 0 || r.Errors[test.kind] == 0) {
				t.Errorf("OK %d, %v %v, not %q", r.OK, r.Errors, r.Examples, test.kind)
			}
		})
	}
}

// Whatever a server sends, both requests end once and nothing panics.
func FuzzHTTP2(f *testing.F) {
	for _, s := range spoken {
		f.Add(frames(s.write))
	}
	f.Fuzz(func(t *testing.T, said []byte) { hear(t, said) })
}

// Encoded requests match their configuration.
func TestPrepareHeaders(t *testing.T) {
	u, _ := url.Parse("https://example.org:8443/a?b=c")
	o, err := encode(HTTP1, u, Request{Payload: 3, Headers: [][2]string{{"A", "b"}}, Answer: answerBytes(7)})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /a?b=c HTTP/1.1\r\nHost: example.org:8443\r\nA: b\r\nTare-Answer-Bytes: 7\r\nContent-Length: 3\r\n\r\n"
	if got := string(o.keep); got != want+string(noise(3)) {
		t.Errorf("request %q", got)
	}
	o, err = encode(GRPC, u, Request{Path: "/s/m", Body: []byte("abc")})
	if err != nil {
		t.Fatal(err)
	}
	if string(o.body) != "\x00\x00\x00\x00\x03abc" || o.headers[2].Value != "/s/m" || o.headers[3].Value != "example.org:8443" {
		t.Errorf("call %q %v", o.body, o.headers)
	}
}
