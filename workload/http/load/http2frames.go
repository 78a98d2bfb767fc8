package load

import (
	"fmt"

	"golang.org/x/net/http2"
)

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
	h.maybeEnd(sl, end, wrong)
	return nil
}

// stranger says whether frames of a stream without a slot break the protocol: they do not
// where the request was given up. It is called with the lane's lock held.
func (h *http2conn) stranger(id uint32) error {
	if id%2 == 0 || id >= h.nextID {
		return malformedf("stream %d was not opened", id)
	}
	return nil
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
	h.maybeEnd(sl, f.StreamEnded(), wrong)
	return nil
}

// maybeEnd ends the request of a slot where its stream has ended, or something is wrong with
// it. It is called with the lane's lock held, and lets go of it.
func (h *http2conn) maybeEnd(sl *slot, end bool, wrong string) {
	l := h.link.lane
	if !end && wrong == "" {
		l.mu.Unlock()
		return
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
