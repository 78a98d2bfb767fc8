package load

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func (h *http2conn) handle(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		return h.headers(f)
	case *http2.DataFrame:
		return h.data(f)
	case *http2.RSTStreamFrame:
		h.resetStream(f.StreamID, fmt.Sprintf("the stream was reset: %v", f.ErrCode))
	case *http2.SettingsFrame:
		return h.settings(f)
	case *http2.WindowUpdateFrame:
		return h.windowUpdate(f)
	case *http2.GoAwayFrame:
		h.goAway(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			h.writeNow(func() { _ = h.framer.WritePing(true, f.Data) })
		}
	case *http2.PushPromiseFrame:
		return malformedf("a push that was not allowed")
	}
	return nil
}

func (h *http2conn) headers(f *http2.HeadersFrame) error {
	h.fields = headerFields{status: -1, grpc: -1, length: -1}
	id, end := f.StreamID, f.StreamEnded()
	block, all, size := f.HeaderBlockFragment(), f.HeadersEnded(), 0
	for {
		if size += len(block); size > mostHead {
			return malformedf("more than %d bytes of headers", mostHead)
		}
		if _, err := h.decoder.Write(block); err != nil {
			return malformedf("headers: %v", err)
		}
		if all {
			break
		}
		next, err := h.framer.ReadFrame() // the next frame must continue the headers; otherwise ReadFrame fails
		if err != nil {
			return frameError(err)
		}
		c, ok := next.(*http2.ContinuationFrame)
		if !ok {
			return malformedf("headers without an end")
		}
		block, all = c.HeaderBlockFragment(), c.HeadersEnded()
	}
	if err := h.decoder.Close(); err != nil {
		return malformedf("headers: %v", err)
	}
	c := h.link.conn
	c.mu.Lock()
	sl := h.streams[id]
	if sl == nil {
		defer c.mu.Unlock()
		return h.unknownStream(id)
	}
	if sl.first == 0 {
		sl.first = c.session.now()
	}
	wrong := sl.stream.addHeaders(&h.fields, end)
	h.endIfDone(sl, end, wrong)
	return nil
}

// unknownStream handles a frame for a stream without a request. It returns an error if the stream was never opened. The
// caller holds the connection's lock.
func (h *http2conn) unknownStream(id uint32) error {
	if id%2 == 0 || id >= h.nextID {
		return malformedf("stream %d was not opened", id)
	}
	return nil
}

func (h *http2conn) data(f *http2.DataFrame) error {
	if h.received += int64(f.Length); h.received > windowSize/2 {
		h.writeNow(func() { _ = h.framer.WriteWindowUpdate(0, uint32(h.received)) })
		h.received = 0
	}
	c := h.link.conn
	c.mu.Lock()
	sl := h.streams[f.StreamID]
	if sl == nil {
		defer c.mu.Unlock()
		return h.unknownStream(f.StreamID)
	}
	s, data := &sl.stream, f.Data()
	wrong := ""
	if s.status == 0 {
		wrong = "a body before its headers"
	}
	if s.body < int64(len(s.prefix)) {
		copy(s.prefix[s.body:], data)
	}
	s.body += int64(len(data))
	h.endIfDone(sl, f.StreamEnded(), wrong)
	return nil
}

// endIfDone ends a slot's request if the stream has ended, or if wrong says how the server broke the protocol. The
// caller holds the connection's lock, which endIfDone releases.
func (h *http2conn) endIfDone(sl *slot, end bool, wrong string) {
	c := h.link.conn
	if !end && wrong == "" {
		c.mu.Unlock()
		return
	}
	x := sl.stream.outcome(c.session.requests[sl.due.request], c.session.conf.Protocol)
	if wrong != "" {
		x = sl.stream.failed(Malformed, wrong)
	}
	h.finish(sl, x, !end)
}

// finish ends a slot's request, and with reset = true its stream. The caller holds the connection's lock, which finish
// releases.
func (h *http2conn) finish(sl *slot, x Exchange, reset bool) {
	c, id := h.link.conn, sl.stream.id
	delete(h.streams, id)
	h.room.Broadcast()
	sl.busy = false
	c.mu.Unlock()
	if reset {
		h.writeNow(func() { _ = h.framer.WriteRSTStream(id, http2.ErrCodeProtocol) })
	}
	sl.end(x, c.session.now())
}

func (h *http2conn) resetStream(id uint32, text string) {
	c := h.link.conn
	c.mu.Lock()
	sl := h.streams[id]
	if sl == nil {
		c.mu.Unlock()
		return
	}
	h.finish(sl, Exchange{Kind: Closed, Text: text}, false)
}

func (h *http2conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	c := h.link.conn
	table := int64(-1)
	c.mu.Lock()
	err := f.ForeachSetting(func(s http2.Setting) error {
		if err := s.Valid(); err != nil {
			return malformedf("settings: %v", err)
		}
		switch s.ID {
		case http2.SettingInitialWindowSize:
			more := int64(s.Val) - h.initial
			h.initial = int64(s.Val)
			for _, sl := range h.streams {
				sl.stream.window += more
			}
			h.room.Broadcast()
		case http2.SettingMaxFrameSize:
			h.frame = int64(s.Val)
		case http2.SettingHeaderTableSize:
			table = int64(s.Val)
		case http2.SettingMaxConcurrentStreams:
			if int64(s.Val) < int64(len(c.slots)) {
				return malformedf("the server allows %d streams on a connection, and %d are needed", s.Val, len(c.slots))
			}
		}
		return nil
	})
	c.mu.Unlock()
	if err != nil {
		return err
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	if table >= 0 {
		h.encoder.SetMaxDynamicTableSizeLimit(uint32(table))
	}
	_ = h.framer.WriteSettingsAck()
	h.flush()
	return nil
}

func (h *http2conn) windowUpdate(f *http2.WindowUpdateFrame) error {
	c := h.link.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	window := &h.window
	if f.StreamID != 0 {
		sl := h.streams[f.StreamID]
		if sl == nil {
			return nil
		}
		window = &sl.stream.window
	}
	if *window += int64(f.Increment); *window > 1<<31-1 {
		return malformedf("a window of %d bytes", *window)
	}
	h.room.Broadcast()
	return nil
}

// goAway handles the server's request to leave the connection. Requests that the server has not processed are sent
// again on a new link (RFC 9113, 6.8).
func (h *http2conn) goAway(f *http2.GoAwayFrame) {
	c := h.link.conn
	c.mu.Lock()
	h.link.retire()
	refused := map[uint32]*slot{}
	for id, sl := range h.streams {
		if id > f.LastStreamID {
			refused[id] = sl
		}
	}
	c.mu.Unlock()
	for id, sl := range refused {
		c.mu.Lock()
		if h.streams[id] != sl {
			c.mu.Unlock()
			continue
		}
		delete(h.streams, id)
		h.room.Broadcast()
		sl.turn++
		c.put(sl)
	}
}

// stream is the state of one request on an HTTP/2 connection; it belongs to a slot.
type stream struct {
	id          uint32
	window      int64 // bytes of the request that may be sent
	status      int
	grpc        int // value of the header grpc-status; -1: not received
	grpcMessage string
	length      int64   // value of the header content-length; -1: not received
	body        int64   // bytes received in DATA frames
	prefix      [5]byte // prefix of the gRPC message: a flag and the length
}

type headerFields struct {
	status, grpc int // HTTP status and gRPC status in these headers; -1: not given
	message      string
	length       int64
	wrong        string
	regular      bool // set when a header that is no pseudo-header was read
}

// addHeaders adds a block of headers to a stream. With end = true, the block ends the stream. The result is the text
// of an error, or "".
func (s *stream) addHeaders(f *headerFields, end bool) string {
	switch {
	case f.wrong != "":
		return f.wrong
	case s.status == 0 && f.status < 0:
		return "headers without a status"
	case s.status != 0 && (f.status >= 0 || !end):
		return "a second block of headers that is no trailer"
	}
	if f.grpc >= 0 {
		s.grpc, s.grpcMessage = f.grpc, f.message
	}
	if s.status != 0 || f.status < 200 { // trailers and interim responses (1xx) leave the stream's status as it is
		if s.status == 0 && end {
			return "an interim response that ends the stream"
		}
		return ""
	}
	s.status, s.length = f.status, f.length
	return ""
}

func (h *http2conn) field(f hpack.HeaderField) {
	got := &h.fields
	if f.IsPseudo() {
		n, ok := number([]byte(f.Value), 10)
		if f.Name != ":status" || got.regular || got.status >= 0 || !ok || n < 100 || n > 599 {
			got.wrong = fmt.Sprintf("header %.60q", f.Name+": "+f.Value)
			return
		}
		got.status = int(n)
		return
	}
	got.regular = true
	switch f.Name {
	case "content-length":
		n, ok := number([]byte(f.Value), 10)
		if !ok || got.length >= 0 && got.length != n {
			got.wrong = fmt.Sprintf("length %.60q", f.Value)
		}
		got.length = n
	case "grpc-status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			got.wrong = fmt.Sprintf("grpc-status %.60q", f.Value)
		}
		got.grpc = int(n)
	case "grpc-message":
		got.message = f.Value
	}
}

func (s *stream) outcome(q *encodedRequest, p Protocol) Exchange {
	if s.length >= 0 && s.length != s.body {
		return s.failed(Malformed, fmt.Sprintf("a body of %d bytes whose headers say %d", s.body, s.length))
	}
	if p != GRPC || s.status < 200 || s.status > 299 {
		return q.outcome(response{status: s.status, body: s.body})
	}
	switch {
	case s.grpc < 0:
		return s.failed(Malformed, "a response without grpc-status")
	case s.grpc > 0:
		return s.failed(Kind("grpc-"+strconv.Itoa(s.grpc)), fmt.Sprintf("gRPC status %d: %.200s", s.grpc, s.grpcMessage))
	}
	message := s.body - int64(len(s.prefix))
	if message < 0 || s.prefix[0] != 0 || int64(binary.BigEndian.Uint32(s.prefix[1:])) != message {
		return s.failed(Malformed, "not one plain gRPC message")
	}
	return q.outcome(response{status: s.status, body: message})
}

func (s *stream) failed(kind Kind, text string) Exchange {
	return Exchange{Kind: kind, Text: text, BytesReceived: s.body}
}
