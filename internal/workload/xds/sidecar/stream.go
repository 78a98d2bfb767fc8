package sidecar

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stream is the client's side of one gRPC stream on its own HTTP/2 connection (RFC 9113). One goroutine reads, and
// writes between reads; if the server does not read, this goroutine blocks.
type stream struct {
	conn    net.Conn
	in      *bufio.Reader
	head    []byte // bytes to write before the first message
	out     []byte // messages that the server's flow-control windows hold back
	decoder *hpack.Decoder
	status  status // status of the response so far

	window, initial int64 // send window of the stream, and its initial size
	whole           int64 // send window of the connection
	received        int64 // bytes received since the receive windows were last enlarged
}

const (
	streamID = 1
	// windowSize is the size of the receive windows, in bytes. It is so large that the server waits only for
	// the connection and never for a window, as with Envoy.
	windowSize = 16 << 20
	firstSize  = 1<<16 - 1 // initial size of every window
	mostFrame  = 1 << 14   // largest frame that every peer must accept, in bytes
	mostHead   = 1 << 16
	readBuffer = 512 // size of each connection's read buffer, in bytes
)

// opening returns the bytes that each connection begins with. All connections can share them, since the header
// compression state is new with each connection.
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
	for len(rest) > 0 { // a long token does not fit one frame
		piece := rest[:min(len(rest), mostFrame)]
		rest = rest[len(piece):]
		_ = to.WriteContinuation(streamID, len(rest) == 0, piece)
	}
	return out.Bytes()
}

func newStream(conn net.Conn, head []byte) *stream {
	s := &stream{conn: conn, in: bufio.NewReaderSize(conn, readBuffer), head: head, window: firstSize, initial: firstSize, whole: firstSize}
	s.decoder = hpack.NewDecoder(4096, s.status.field)
	s.decoder.SetMaxStringLength(mostHead)
	return s
}

// writer collects frames that are written at once.
type writer struct {
	*http2.Framer
	buf bytes.Buffer
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.Framer = http2.NewFramer(&w.buf, nil)
	return w
}}

// write sends, at once, the frames that the given function adds to the writer.
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

// queue queues a message for the next flush, or for a later one if the server's windows are full.
func (s *stream) queue(message []byte) {
	s.out = binary.BigEndian.AppendUint32(append(s.out, 0), uint32(len(message))) // the first byte is a flag: the message is not compressed
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

// room returns the number of bytes that can be sent in one frame.
func (s *stream) room() int64 { return min(int64(len(s.out)), s.window, s.whole, mostFrame) }

// serve reads until the stream ends, and calls take for each piece of data.
func (s *stream) serve(take func([]byte) error) error {
	for first := true; ; first = false {
		h, err := http2.ReadFrameHeader(s.in)
		switch {
		case err != nil:
			return s.closed(err)
		case first && h.Type != http2.FrameSettings:
			return malformedf("the server does not begin with HTTP/2 settings")
		case h.Length > mostFrame:
			return malformedf("a frame of %d bytes", h.Length)
		case h.Type == http2.FrameData:
			err = s.data(h, take)
		default:
			payload := make([]byte, h.Length)
			if _, err := io.ReadFull(s.in, payload); err != nil {
				return s.closed(err)
			}
			err = s.control(h, payload)
		}
		if err != nil {
			return err
		}
	}
}

// control handles a frame that is not a data frame.
func (s *stream) control(h http2.FrameHeader, p []byte) error {
	switch h.Type {
	case http2.FrameHeaders:
		return s.headers(h, p)
	case http2.FrameSettings:
		return s.settings(h, p)
	case http2.FrameWindowUpdate:
		if len(p) != 4 {
			return malformedf("a window update of %d bytes", len(p))
		}
		more := int64(binary.BigEndian.Uint32(p) & math.MaxInt32)
		switch h.StreamID {
		case 0:
			s.whole += more
		case streamID:
			s.window += more
		}
		return s.flush()
	case http2.FramePing:
		if len(p) != 8 {
			return malformedf("a ping of %d bytes", len(p))
		}
		if !h.Flags.Has(http2.FlagPingAck) {
			return s.write(func(w *writer) { _ = w.WritePing(true, [8]byte(p)) })
		}
	case http2.FrameRSTStream:
		if len(p) != 4 {
			return malformedf("a reset of %d bytes", len(p))
		}
		return &Error{reset, http2.ErrCode(binary.BigEndian.Uint32(p)).String()}
	case http2.FrameGoAway:
		if len(p) < 8 {
			return malformedf("a GOAWAY frame of %d bytes", len(p))
		}
		code := http2.ErrCode(binary.BigEndian.Uint32(p[4:]))
		s.status.goAway = fmt.Sprintf("the server goes away: %v %.100q", code, p[8:])
		if binary.BigEndian.Uint32(p)&math.MaxInt32 < streamID {
			return &Error{Closed, s.status.goAway}
		}
	}
	return nil
}

// settings handles the server's settings.
func (s *stream) settings(h http2.FrameHeader, p []byte) error {
	if h.Flags.Has(http2.FlagSettingsAck) {
		return nil
	}
	if len(p)%6 != 0 {
		return malformedf("settings of %d bytes", len(p))
	}
	for ; len(p) > 0; p = p[6:] {
		if http2.SettingID(binary.BigEndian.Uint16(p)) != http2.SettingInitialWindowSize {
			continue
		}
		size := int64(binary.BigEndian.Uint32(p[2:]))
		if size > math.MaxInt32 {
			return malformedf("a window of %d bytes", size)
		}
		s.window += size - s.initial
		s.initial = size
	}
	if err := s.write(func(w *writer) { _ = w.WriteSettingsAck() }); err != nil {
		return err
	}
	return s.flush()
}

// chunks holds buffers for reading data frames.
var chunks = sync.Pool{New: func() any { return new([4096]byte) }}

// data handles a data frame.
func (s *stream) data(h http2.FrameHeader, take func([]byte) error) error {
	if h.StreamID != streamID || !s.status.began {
		return malformedf("data on stream %d that was not announced", h.StreamID)
	}
	left, padding := int(h.Length), 0
	if h.Flags.Has(http2.FlagDataPadded) {
		n, err := s.in.ReadByte()
		if err != nil {
			return s.closed(err)
		}
		padding = int(n)
		left -= 1 + padding
	}
	if left < 0 {
		return malformedf("more padding than data")
	}
	chunk := chunks.Get().(*[4096]byte)
	defer chunks.Put(chunk)
	for left > 0 {
		n, err := s.in.Read(chunk[:min(left, len(chunk))])
		if n == 0 && err != nil {
			return s.closed(err)
		}
		left -= n
		if err := take(chunk[:n]); err != nil {
			return err
		}
	}
	if _, err := s.in.Discard(padding); err != nil {
		return s.closed(err)
	}
	if h.Flags.Has(http2.FlagDataEndStream) {
		return malformedf("the stream ends without a status")
	}
	if s.received += int64(h.Length); s.received < windowSize/2 {
		return nil
	}
	more := uint32(s.received)
	s.received = 0
	return s.write(func(w *writer) {
		_ = w.WriteWindowUpdate(0, more)
		_ = w.WriteWindowUpdate(streamID, more)
	})
}

// closed returns the error for a connection that either side has closed.
func (s *stream) closed(err error) error {
	if s.status.goAway != "" {
		return &Error{Closed, s.status.goAway}
	}
	return &Error{Closed, err.Error()}
}
