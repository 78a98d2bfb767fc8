package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// http2conn is HTTP/2 on a connection (RFC 9113), also for gRPC.
type http2conn struct {
	link *link
	conn net.Conn
	fr   *http2.Framer // reads from the connection, writes to out
	br   *bufio.Reader

	// writing guards what is written. The lane's lock may be taken while it is held.
	writing sync.Mutex
	out     bytes.Buffer
	encoder *hpack.Encoder
	block   bytes.Buffer // headers, encoded
	nextID  uint32       // written with the lane's lock held, too

	// Guarded by the lane's lock.
	streams map[uint32]*slot
	gone    bool      // the connection has ended
	room    sync.Cond // more may be sent
	window  int64     // of the connection, for what is sent
	initial int64     // window of a new stream
	frame   int64     // largest one that the server takes

	received int64 // bytes since the connection's window was opened again; the reader's
	decoder  *hpack.Decoder
	fields   fields // that the decoder has found
}

// stream is the state of a slot's request on HTTP/2.
type stream struct {
	id     uint32
	window int64 // for what is sent
	status int
	grpc   int // grpc-status; -1: none yet
	said   string
	length int64   // content-length; -1: none
	body   int64   // bytes of DATA
	prefix [5]byte // of a gRPC message
}

// windowSize is how much the server may send unasked, on a stream and on a connection: so
// much that its answers never wait for the generator.
const windowSize = 1 << 30

// fields are the headers that matter, of one block.
type fields struct {
	status, grpc int // -1: none
	message      string
	length       int64
	wrong        string
	regular      bool // a header without colon was seen
}

func newHTTP2(k *link, conn net.Conn) *http2conn {
	h := &http2conn{
		link: k, conn: conn, br: bufio.NewReaderSize(conn, readBuffer), nextID: 1, streams: map[uint32]*slot{},
		window: 65535, initial: 65535, frame: 16384,
	}
	h.room.L = &k.lane.mu
	h.fr = http2.NewFramer(&h.out, h.br)
	h.fr.SetReuseFrames()
	h.fr.SetMaxReadFrameSize(16384)
	h.encoder = hpack.NewEncoder(&h.block)
	h.decoder = hpack.NewDecoder(4096, h.field)
	h.decoder.SetMaxStringLength(mostHead)
	h.out.WriteString(http2.ClientPreface)
	_ = h.fr.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: windowSize})
	_ = h.fr.WriteWindowUpdate(0, windowSize-65535)
	return h // the preface goes out with the first request, or the answer to the settings
}

// flush writes what was framed. It is called with writing held.
func (h *http2conn) flush() {
	_, err := h.conn.Write(h.out.Bytes())
	h.out.Reset()
	if err != nil {
		h.link.raw.Close() // read tells
	}
}

func (h *http2conn) write(sl *slot, o *outgoing, turn uint64, _ bool) {
	l := h.link.lane
	h.writing.Lock()
	defer h.writing.Unlock()
	l.mu.Lock()
	if !sl.busy || sl.turn != turn || h.gone {
		l.mu.Unlock()
		return
	}
	id := h.nextID
	h.nextID += 2
	if h.nextID > 1<<30 {
		h.link.retire()
	}
	sl.stream = stream{id: id, window: h.initial, grpc: -1, length: -1}
	h.streams[id] = sl
	n := int64(len(o.body))
	whole := n > 0 && n <= atOnce && n <= min(h.window, h.initial, h.frame)
	if whole {
		h.window -= n
		sl.stream.window -= n
	}
	l.mu.Unlock()

	h.block.Reset()
	for _, f := range o.headers {
		_ = h.encoder.WriteField(f) // into memory
	}
	_ = h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: h.block.Bytes(), EndHeaders: true, EndStream: n == 0})
	if whole {
		_ = h.fr.WriteData(id, true, o.body)
	}
	h.flush()
	if n > 0 && !whole {
		go h.body(sl, turn, id, o.body)
	}
}

// body sends a body as the server's windows let it.
func (h *http2conn) body(sl *slot, turn uint64, id uint32, body []byte) {
	l := h.link.lane
	for len(body) > 0 {
		l.mu.Lock()
		current := func() bool { return !h.gone && sl.turn == turn && h.streams[id] == sl }
		for current() && min(h.window, sl.stream.window) <= 0 {
			h.room.Wait()
		}
		if h.gone {
			l.mu.Unlock()
			return
		}
		if !current() { // answered before it was asked in full, or given up
			l.mu.Unlock()
			h.writing.Lock()
			_ = h.fr.WriteRSTStream(id, http2.ErrCodeCancel)
			h.flush()
			h.writing.Unlock()
			return
		}
		n := min(int64(len(body)), h.window, sl.stream.window, h.frame)
		h.window -= n
		sl.stream.window -= n
		l.mu.Unlock()
		h.writing.Lock()
		_ = h.fr.WriteData(id, n == int64(len(body)), body[:n])
		h.flush()
		h.writing.Unlock()
		body = body[n:]
	}
}

// drop takes a request back, unless the connection does not even take the word for that.
func (h *http2conn) drop(sl *slot) bool {
	if h.gone || h.streams[sl.stream.id] != sl || !h.writing.TryLock() {
		return false
	}
	delete(h.streams, sl.stream.id)
	h.room.Broadcast()
	id := sl.stream.id
	go func() { // the lane's lock is held, and writing may take long
		_ = h.fr.WriteRSTStream(id, http2.ErrCodeCancel)
		h.flush()
		h.writing.Unlock()
	}()
	return true
}

func (h *http2conn) read() error {
	err := h.frames()
	h.link.lane.mu.Lock()
	h.gone = true
	clear(h.streams)
	h.room.Broadcast()
	h.link.lane.mu.Unlock()
	return err
}

// frames reads frames until the connection ends.
func (h *http2conn) frames() error {
	h.writing.Lock()
	if h.out.Len() > 0 {
		h.flush()
	}
	h.writing.Unlock()
	for first := true; ; first = false {
		f, err := h.fr.ReadFrame()
		if err != nil {
			return frameError(err)
		}
		if _, ok := f.(*http2.SettingsFrame); first && !ok {
			return malformedf("the server does not begin with HTTP/2 settings")
		}
		if err := h.frameIn(f); err != nil {
			return err
		}
		if h.idleForGood() {
			h.writing.Lock()
			_ = h.fr.WriteGoAway(0, http2.ErrCodeNo, nil)
			h.flush()
			h.writing.Unlock()
			awaitEnd(h.link.raw, h.br)
			return io.EOF
		}
	}
}

// frameError tells errors of the connection from frames that are wrong.
func frameError(err error) error {
	var c http2.ConnectionError
	var s http2.StreamError
	switch {
	case errors.As(err, &c), errors.As(err, &s):
		return malformedf("%v", err)
	case errors.Is(err, http2.ErrFrameTooLarge):
		return malformedf("%v: the server may not speak HTTP/2", err)
	}
	return err
}

// idleForGood says whether the connection takes no more requests and has none under way.
func (h *http2conn) idleForGood() bool {
	l := h.link.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.link.last {
		return false
	}
	for _, sl := range l.slots {
		if sl.busy && sl.link == h.link {
			return false
		}
	}
	return true
}

// frameIn takes one frame.
func (h *http2conn) frameIn(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		return h.headers(f)
	case *http2.DataFrame:
		return h.data(f)
	case *http2.RSTStreamFrame:
		h.reset(f.StreamID, fmt.Sprintf("the stream was reset: %v", f.ErrCode))
	case *http2.SettingsFrame:
		return h.settings(f)
	case *http2.WindowUpdateFrame:
		return h.opened(f)
	case *http2.GoAwayFrame:
		h.goAway(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			h.writing.Lock()
			_ = h.fr.WritePing(true, f.Data)
			h.flush()
			h.writing.Unlock()
		}
	case *http2.PushPromiseFrame:
		return malformedf("a push that was not allowed")
	}
	return nil
}

// headers takes the headers or the trailers of an answer.
func (h *http2conn) headers(f *http2.HeadersFrame) error {
	h.fields = fields{status: -1, grpc: -1, length: -1}
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
		next, err := h.fr.ReadFrame() // sees to it that this is a continuation
		if err != nil {
			return frameError(err)
		}
		c, ok := next.(*http2.ContinuationFrame)
		if !ok {
			return malformedf("headers that do not end")
		}
		block, all = c.HeaderBlockFragment(), c.HeadersEnded()
	}
	if err := h.decoder.Close(); err != nil {
		return malformedf("headers: %v", err)
	}
	l := h.link.lane
	l.mu.Lock()
	sl := h.streams[id]
	if sl == nil {
		defer l.mu.Unlock()
		return h.stranger(id)
	}
	wrong := sl.stream.header(&h.fields, end)
	return h.maybeEnd(sl, end, wrong)
}

// stranger says whether frames of a stream without a slot break the protocol: they do not
// where the request was given up. It is called with the lane's lock held.
func (h *http2conn) stranger(id uint32) error {
	if id%2 == 0 || id >= h.nextID {
		return malformedf("stream %d was not opened", id)
	}
	return nil
}

// header takes a block of headers, and says what is wrong with it.
func (s *stream) header(f *fields, end bool) string {
	switch {
	case f.wrong != "":
		return f.wrong
	case s.status == 0 && f.status < 0:
		return "headers without a status"
	case s.status != 0 && (f.status >= 0 || !end):
		return "a second block of headers that is no trailer"
	}
	if f.grpc >= 0 {
		s.grpc, s.said = f.grpc, f.message
	}
	if s.status != 0 || f.status < 200 { // trailers, or an interim answer
		if s.status == 0 && end {
			return "an interim answer that ends the stream"
		}
		return ""
	}
	s.status, s.length = f.status, f.length
	return ""
}

// field takes one header from the decoder.
func (h *http2conn) field(f hpack.HeaderField) {
	is := &h.fields
	if f.IsPseudo() {
		n, ok := decimal([]byte(f.Value))
		if f.Name != ":status" || is.regular || is.status >= 0 || !ok || n < 100 || n > 599 {
			is.wrong = fmt.Sprintf("header %.60q", f.Name+": "+f.Value)
			return
		}
		is.status = int(n)
		return
	}
	is.regular = true
	switch f.Name {
	case "content-length":
		n, ok := decimal([]byte(f.Value))
		if !ok || is.length >= 0 && is.length != n {
			is.wrong = fmt.Sprintf("length %.60q", f.Value)
		}
		is.length = n
	case "grpc-status":
		n, err := strconv.ParseUint(f.Value, 10, 16)
		if err != nil {
			is.wrong = fmt.Sprintf("grpc-status %.60q", f.Value)
		}
		is.grpc = int(n)
	case "grpc-message":
		is.message = f.Value
	}
}

// data takes a part of a body.
func (h *http2conn) data(f *http2.DataFrame) error {
	if h.received += int64(f.Length); h.received > windowSize/2 {
		h.writing.Lock()
		_ = h.fr.WriteWindowUpdate(0, uint32(h.received))
		h.flush()
		h.writing.Unlock()
		h.received = 0
	}
	l := h.link.lane
	l.mu.Lock()
	sl := h.streams[f.StreamID]
	if sl == nil {
		defer l.mu.Unlock()
		return h.stranger(f.StreamID)
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
	return h.maybeEnd(sl, f.StreamEnded(), wrong)
}

// maybeEnd ends the request of a slot where its stream has ended, or something is wrong with
// it. It is called with the lane's lock held, and lets go of it.
func (h *http2conn) maybeEnd(sl *slot, end bool, wrong string) error {
	l := h.link.lane
	if !end && wrong == "" {
		l.mu.Unlock()
		return nil
	}
	o := sl.stream.judge(l.session.requests[sl.ticket.request], l.session.conf.Protocol)
	id := sl.stream.id
	if wrong != "" {
		o = outcome{Malformed, wrong, sl.stream.body}
	}
	delete(h.streams, id)
	h.room.Broadcast()
	sl.busy = false
	l.mu.Unlock()
	if !end {
		h.writing.Lock()
		_ = h.fr.WriteRSTStream(id, http2.ErrCodeProtocol)
		h.flush()
		h.writing.Unlock()
	}
	sl.end(o, l.session.now())
	return nil
}

// judge says how a complete answer ends its request.
func (s *stream) judge(o *outgoing, p Protocol) outcome {
	if s.length >= 0 && s.length != s.body {
		return outcome{Malformed, fmt.Sprintf("a body of %d bytes whose headers say %d", s.body, s.length), s.body}
	}
	if p != GRPC || s.status < 200 || s.status > 299 {
		return judge(answer{status: s.status, body: s.body}, o)
	}
	switch {
	case s.grpc < 0:
		return outcome{Malformed, "an answer without grpc-status", s.body}
	case s.grpc > 0:
		return outcome{Kind("grpc-" + strconv.Itoa(s.grpc)), fmt.Sprintf("gRPC status %d: %.200s", s.grpc, s.said), s.body}
	}
	message := s.body - int64(len(s.prefix))
	said := int64(s.prefix[1])<<24 | int64(s.prefix[2])<<16 | int64(s.prefix[3])<<8 | int64(s.prefix[4])
	if message < 0 || s.prefix[0] != 0 || said != message {
		return outcome{Malformed, "not one plain gRPC message", s.body}
	}
	return judge(answer{status: s.status, body: message}, o)
}

// reset ends a stream that the server has reset.
func (h *http2conn) reset(id uint32, text string) {
	l := h.link.lane
	l.mu.Lock()
	sl := h.streams[id]
	if sl == nil {
		l.mu.Unlock()
		return
	}
	delete(h.streams, id)
	h.room.Broadcast()
	sl.busy = false
	l.mu.Unlock()
	sl.end(outcome{kind: Closed, text: text}, l.session.now())
}

// settings takes what the server allows, and says so.
func (h *http2conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	l := h.link.lane
	table := int64(-1)
	l.mu.Lock()
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
			if int64(s.Val) < int64(len(l.slots)) {
				return malformedf("the server takes %d streams on a connection, and %d are asked for", s.Val, len(l.slots))
			}
		}
		return nil
	})
	l.mu.Unlock()
	if err != nil {
		return err
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	if table >= 0 {
		h.encoder.SetMaxDynamicTableSizeLimit(uint32(table))
	}
	_ = h.fr.WriteSettingsAck()
	h.flush()
	return nil
}

// opened takes more room in a window.
func (h *http2conn) opened(f *http2.WindowUpdateFrame) error {
	l := h.link.lane
	l.mu.Lock()
	defer l.mu.Unlock()
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

// goAway takes no new requests, and sends those anew that the server says it has not looked
// at, as any client does (RFC 9113, 6.8).
func (h *http2conn) goAway(f *http2.GoAwayFrame) {
	l := h.link.lane
	l.mu.Lock()
	h.link.retire()
	refused := map[uint32]*slot{}
	for id, sl := range h.streams {
		if id > f.LastStreamID {
			refused[id] = sl
		}
	}
	l.mu.Unlock()
	for id, sl := range refused {
		l.mu.Lock()
		if h.streams[id] != sl {
			l.mu.Unlock()
			continue
		}
		delete(h.streams, id)
		h.room.Broadcast()
		sl.turn++
		l.put(sl)
	}
}
