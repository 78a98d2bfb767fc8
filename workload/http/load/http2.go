package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
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

// windowSize is how much the server may send unasked, on a stream and on a connection: so
// much that its answers never wait for the generator.
const windowSize = 1 << 30

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
		_ = h.link.raw.Close() // read tells
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
