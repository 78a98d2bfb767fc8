package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// http2conn implements wire for HTTP/2 (RFC 9113) and gRPC.
type http2conn struct {
	link   *link
	conn   net.Conn
	framer *http2.Framer // reads from the connection, writes to out
	reader *bufio.Reader

	// writing is the lock of the fields out, encoder, block and nextID. A goroutine that holds this lock may also lock
	// the connection.
	writing sync.Mutex
	out     bytes.Buffer
	encoder *hpack.Encoder
	block   bytes.Buffer // encoded headers
	nextID  uint32       // id of the next stream; a change needs the lock writing and the connection's lock

	// The connection's lock guards these fields.
	streams map[uint32]*slot
	ended   bool      // the network connection has ended
	room    sync.Cond // wakes goroutines that wait until they may send more bytes
	window  int64     // bytes that may be sent on the connection
	initial int64     // bytes that may be sent on a new stream
	frame   int64     // largest frame that the server takes, in bytes

	received int64 // bytes read since the last window update; only the reader uses it
	decoder  *hpack.Decoder
	fields   headerFields // headers of the block that the decoder reads
}

// windowSize is how many bytes the server may send before it must wait, per stream and per connection. It is so large
// that the server never waits.
const windowSize = 1 << 30

func newHTTP2(k *link, conn net.Conn) *http2conn {
	h := &http2conn{
		link: k, conn: conn, reader: bufio.NewReaderSize(conn, readBuffer), nextID: 1, streams: map[uint32]*slot{},
		window: 65535, initial: 65535, frame: 16384,
	}
	h.room.L = &k.conn.mu
	h.framer = http2.NewFramer(&h.out, h.reader)
	h.framer.SetReuseFrames()
	h.framer.SetMaxReadFrameSize(16384)
	h.encoder = hpack.NewEncoder(&h.block)
	h.decoder = hpack.NewDecoder(4096, h.field)
	h.decoder.SetMaxStringLength(mostHead)
	h.out.WriteString(http2.ClientPreface)
	_ = h.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: windowSize})
	_ = h.framer.WriteWindowUpdate(0, windowSize-65535)
	return h // the frames above are sent with the first request, or with the reply to settings
}

// flush writes the buffered frames. The caller holds the writing lock.
func (h *http2conn) flush() {
	_, err := h.conn.Write(h.out.Bytes())
	h.out.Reset()
	if err != nil {
		_ = h.link.raw.Close() // closing the connection makes the method read return an error
	}
}

// writeNow calls a function that buffers frames, and writes these frames. It waits for the writing lock.
func (h *http2conn) writeNow(frame func()) {
	h.writing.Lock()
	defer h.writing.Unlock()
	frame()
	h.flush()
}

func (h *http2conn) write(sl *slot, q *encodedRequest, turn uint64, _ bool) {
	c := h.link.conn
	h.writing.Lock()
	defer h.writing.Unlock()
	c.mu.Lock()
	if !sl.busy || sl.turn != turn || h.ended {
		c.mu.Unlock()
		return
	}
	id := h.nextID
	h.nextID += 2
	if h.nextID > 1<<30 {
		h.link.retire()
	}
	sl.stream = stream{id: id, window: h.initial, grpc: -1, length: -1}
	h.streams[id] = sl
	n := int64(len(q.body))
	whole := n > 0 && n <= atOnce && n <= min(h.window, h.initial, h.frame)
	if whole {
		h.window -= n
		sl.stream.window -= n
	}
	c.mu.Unlock()

	h.block.Reset()
	for _, f := range q.headers {
		_ = h.encoder.WriteField(f) // writing to memory cannot fail
	}
	_ = h.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: h.block.Bytes(), EndHeaders: true, EndStream: n == 0})
	if whole {
		_ = h.framer.WriteData(id, true, q.body)
	}
	h.flush()
	if n > 0 && !whole {
		go h.writeBody(sl, turn, id, q.body)
	}
}

// writeBody sends a body in pieces, as the server's windows allow.
func (h *http2conn) writeBody(sl *slot, turn uint64, id uint32, body []byte) {
	c := h.link.conn
	for len(body) > 0 {
		c.mu.Lock()
		current := func() bool { return !h.ended && sl.turn == turn && h.streams[id] == sl }
		for current() && min(h.window, sl.stream.window) <= 0 {
			h.room.Wait()
		}
		if h.ended {
			c.mu.Unlock()
			return
		}
		if !current() { // the request has ended: the response came before the whole body was sent, or we gave up
			c.mu.Unlock()
			h.writeNow(func() { _ = h.framer.WriteRSTStream(id, http2.ErrCodeCancel) })
			return
		}
		n := min(int64(len(body)), h.window, sl.stream.window, h.frame)
		h.window -= n
		sl.stream.window -= n
		c.mu.Unlock()
		h.writeNow(func() { _ = h.framer.WriteData(id, n == int64(len(body)), body[:n]) })
		body = body[n:]
	}
}

// drop cancels a request by resetting its stream. It returns false if the request has ended or another goroutine is
// writing on the connection.
func (h *http2conn) drop(sl *slot) bool {
	if h.ended || h.streams[sl.stream.id] != sl || !h.writing.TryLock() {
		return false
	}
	delete(h.streams, sl.stream.id)
	h.room.Broadcast()
	id := sl.stream.id
	go func() { // in a goroutine: writing may take long, and the caller holds the connection's lock
		_ = h.framer.WriteRSTStream(id, http2.ErrCodeCancel)
		h.flush()
		h.writing.Unlock()
	}()
	return true
}

func (h *http2conn) read() error {
	err := h.frames()
	h.link.conn.mu.Lock()
	h.ended = true
	clear(h.streams)
	h.room.Broadcast()
	h.link.conn.mu.Unlock()
	return err
}

func (h *http2conn) frames() error {
	h.writing.Lock()
	if h.out.Len() > 0 {
		h.flush()
	}
	h.writing.Unlock()
	for first := true; ; first = false {
		f, err := h.framer.ReadFrame()
		if err != nil {
			return frameError(err)
		}
		if _, ok := f.(*http2.SettingsFrame); first && !ok {
			return malformedf("the server does not begin with HTTP/2 settings")
		}
		if err := h.handle(f); err != nil {
			return err
		}
		if h.retiredAndIdle() {
			h.writeNow(func() { _ = h.framer.WriteGoAway(0, http2.ErrCodeNo, nil) })
			awaitEnd(h.link.raw, h.reader)
			return io.EOF
		}
	}
}

// frameError turns an error about a wrong frame into a failure of kind Malformed.
func frameError(err error) error {
	_, connection := errors.AsType[http2.ConnectionError](err)
	_, stream := errors.AsType[http2.StreamError](err)
	switch {
	case connection || stream:
		return malformedf("%v", err)
	case errors.Is(err, http2.ErrFrameTooLarge):
		return malformedf("%v: the server may not speak HTTP/2", err)
	}
	return err
}

// retiredAndIdle reports whether the link takes no more requests and has none under way.
func (h *http2conn) retiredAndIdle() bool {
	c := h.link.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.link.retired && !slices.ContainsFunc(c.slots, func(sl *slot) bool { return sl.busy && sl.link == h.link })
}
