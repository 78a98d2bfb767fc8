package sidecar

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stream is the client's side of one gRPC stream, on its own HTTP/2 connection (RFC 9113). Readers get the content of
// data frames. One goroutine reads and writes, and blocks while the server does not read.
type stream struct {
	conn   net.Conn
	in     *bufio.Reader
	frames *http2.Framer // reader of the server's frames
	head   []byte        // bytes to write before the first message
	out    []byte        // messages that wait until the server's flow-control windows have room

	greeted  bool   // the server's first frame has arrived
	answered bool   // the response's headers have arrived
	goAway   string // text of the server's GOAWAY frame; "": none arrived

	left, padding int  // bytes of the current data frame that have not been read
	last          bool // the current data frame ends the stream

	window, initial int64 // send window of the stream, and its initial size
	whole           int64 // send window of the connection
	received        int64 // bytes received since the receive windows were last enlarged
}

const (
	streamID = 1
	// windowSize is the size of the receive windows, in bytes. As with Envoy, it is so large that a server never
	// waits for a window.
	windowSize = 16 << 20
	firstSize  = 1<<16 - 1 // initial size of every window
	mostFrame  = 1 << 14   // largest frame that every peer must accept, in bytes
	mostHead   = 1 << 16
	readBuffer = 512 // size of each connection's read buffer, in bytes
)

// opening returns the bytes that are sent first on each connection. They are equal for all: header compression always
// begins with an empty state.
func opening(s Server) []byte {
	scheme, path := "http", "StreamAggregatedResources"
	if s.TLS != nil {
		scheme = "https"
	}
	if s.Protocol == Delta {
		path = "DeltaAggregatedResources"
	}
	headers := []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme},
		{Name: ":path", Value: "/envoy.service.discovery.v3.AggregatedDiscoveryService/" + path},
		{Name: ":authority", Value: s.Authority}, {Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"}, {Name: "user-agent", Value: "tare"},
	}
	if s.Token != "" {
		headers = append(headers, hpack.HeaderField{Name: "authorization", Value: "Bearer " + s.Token, Sensitive: true})
	}
	var out, block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range headers {
		_ = encoder.WriteField(h) // the encoder writes to memory and cannot fail
	}
	out.WriteString(http2.ClientPreface)
	to := http2.NewFramer(&out, nil)
	_ = to.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: windowSize})
	_ = to.WriteWindowUpdate(0, windowSize-firstSize)
	rest := block.Bytes()
	first := rest[:min(len(rest), mostFrame)]
	rest = rest[len(first):]
	_ = to.WriteHeaders(http2.HeadersFrameParam{StreamID: streamID, BlockFragment: first, EndHeaders: len(rest) == 0})
	for len(rest) > 0 { // headers with a long token need several frames
		piece := rest[:min(len(rest), mostFrame)]
		rest = rest[len(piece):]
		_ = to.WriteContinuation(streamID, len(rest) == 0, piece)
	}
	return out.Bytes()
}

func newStream(conn net.Conn, head []byte) *stream {
	in := bufio.NewReaderSize(conn, readBuffer)
	s := &stream{conn: conn, in: in, frames: http2.NewFramer(nil, in), head: head, window: firstSize, initial: firstSize, whole: firstSize}
	s.frames.SetMaxReadFrameSize(mostFrame)
	s.frames.ReadMetaHeaders, s.frames.MaxHeaderListSize = hpack.NewDecoder(4096, nil), mostHead
	return s
}

// writer collects frames, which one call of Write then sends.
type writer struct {
	*http2.Framer
	buf bytes.Buffer
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.Framer = http2.NewFramer(&w.buf, nil)
	return w
}}

// write lets the function frames add frames to a writer. It then sends all these frames in one call of Write.
func (s *stream) write(frames func(*writer)) error {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	w.buf.Reset()
	frames(w)
	if _, err := s.conn.Write(w.buf.Bytes()); err != nil {
		return &Error{Closed, err.Error()}
	}
	return nil
}

// queue queues a message. The next flush sends it, or a later one if the server's windows are full.
func (s *stream) queue(message []byte) {
	s.out = binary.BigEndian.AppendUint32(append(s.out, 0), uint32(len(message))) // the first byte is a flag; 0: the message is not compressed
	s.out = append(s.out, message...)
}

// flush sends as much as the server's windows allow.
func (s *stream) flush() error {
	if len(s.out) == 0 || min(s.window, s.whole) <= 0 {
		return nil
	}
	return s.write(func(w *writer) {
		w.buf.Write(s.head)
		s.head = nil
		for n := s.room(); n > 0; n = s.room() {
			_ = w.WriteData(streamID, false, s.out[:n])
			s.out, s.window, s.whole = s.out[n:], s.window-n, s.whole-n
		}
		if len(s.out) == 0 {
			s.out = nil
		}
	})
}

// room returns the number of message bytes that the next frame can carry.
func (s *stream) room() int64 { return min(int64(len(s.out)), s.window, s.whole, mostFrame) }

// Read reads content of data frames.
func (s *stream) Read(p []byte) (int, error) {
	if err := s.await(); err != nil {
		return 0, err
	}
	n, err := s.in.Read(p[:min(len(p), s.left)])
	if s.left -= n; n == 0 && err != nil {
		return 0, s.closed(err)
	}
	return n, nil
}

// ReadByte reads one byte of the content of data frames.
func (s *stream) ReadByte() (byte, error) {
	if err := s.await(); err != nil {
		return 0, err
	}
	b, err := s.in.ReadByte()
	if err != nil {
		return 0, s.closed(err)
	}
	s.left--
	return b, nil
}

// await reads and handles frames until a frame with content has come.
func (s *stream) await() error {
	for s.left == 0 {
		if _, err := s.in.Discard(s.padding); err != nil {
			return s.closed(err)
		}
		if s.padding = 0; s.last {
			return malformedf("the stream ends without a status")
		}
		if err := s.frame(); err != nil {
			return err
		}
	}
	return nil
}

// frame handles the next frame. It reads no content of a data frame.
func (s *stream) frame() error {
	h, err := s.frames.ReadFrameHeader()
	switch {
	case err != nil:
		return s.closed(err)
	case !s.greeted && h.Type != http2.FrameSettings:
		return malformedf("the server does not begin with HTTP/2 settings")
	case h.Type == http2.FrameData:
		return s.data(h)
	}
	s.greeted = true
	f, err := s.frames.ReadFrameForHeader(h)
	if err != nil {
		return s.closed(err)
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		return s.headers(f)
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
			s.window += int64(size) - s.initial
			s.initial = int64(size)
		}
		if err := s.write(func(w *writer) { _ = w.WriteSettingsAck() }); err != nil {
			return err
		}
		return s.flush()
	case *http2.WindowUpdateFrame:
		switch f.StreamID {
		case 0:
			s.whole += int64(f.Increment)
		case streamID:
			s.window += int64(f.Increment)
		}
		return s.flush()
	case *http2.PingFrame:
		if !f.IsAck() {
			return s.write(func(w *writer) { _ = w.WritePing(true, f.Data) })
		}
	case *http2.RSTStreamFrame:
		return &Error{reset, f.ErrCode.String()}
	case *http2.GoAwayFrame:
		s.goAway = fmt.Sprintf("the server goes away: %v %.100q", f.ErrCode, f.DebugData())
		if f.LastStreamID < streamID {
			return &Error{Closed, s.goAway}
		}
	}
	return nil
}

// data handles the beginning of a data frame, and enlarges the receive windows if enough data has arrived.
func (s *stream) data(h http2.FrameHeader) error {
	if h.StreamID != streamID || !s.answered {
		return malformedf("data on stream %d that was not announced", h.StreamID)
	}
	s.left, s.last = int(h.Length), h.Flags.Has(http2.FlagDataEndStream)
	if h.Flags.Has(http2.FlagDataPadded) {
		n, err := s.in.ReadByte()
		if err != nil {
			return s.closed(err)
		}
		s.padding = int(n)
		s.left -= 1 + s.padding
	}
	if s.left < 0 {
		return malformedf("more padding than data")
	}
	if s.received += int64(h.Length); s.received < windowSize/2 {
		return nil
	}
	received := uint32(s.received)
	s.received = 0
	return s.write(func(w *writer) {
		_ = w.WriteWindowUpdate(0, received)
		_ = w.WriteWindowUpdate(streamID, received)
	})
}

// headers handles the headers at the beginning of the stream, or the trailers at its end.
func (s *stream) headers(f *http2.MetaHeadersFrame) error {
	if f.StreamID != streamID || f.Truncated {
		return malformedf("headers on stream %d, or headers of more than %d bytes", f.StreamID, mostHead)
	}
	var code, message string
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			code = field.Value
		case "grpc-message":
			message = field.Value
		}
	}
	switch http := f.PseudoValue("status"); {
	case code != "":
		return ended(code, message)
	case !s.answered && http != "200":
		return malformedf("the server answers with HTTP status %.20q", http)
	case f.StreamEnded():
		return malformedf("the stream ends without a status")
	case s.answered:
		return malformedf("headers within the stream")
	}
	s.answered = true
	return nil
}

// closed turns the error of reading a frame into an *Error. Either the frame is not valid, or one side has closed
// the connection.
func (s *stream) closed(err error) error {
	_, connection := errors.AsType[http2.ConnectionError](err)
	_, stream := errors.AsType[http2.StreamError](err)
	switch {
	case connection || stream || errors.Is(err, http2.ErrFrameTooLarge):
		return malformedf("%v", cmp.Or(s.frames.ErrorDetail(), err))
	case s.goAway != "":
		return &Error{Closed, s.goAway}
	}
	return &Error{Closed, err.Error()}
}
