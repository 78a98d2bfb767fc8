package sidecar

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// incoming parses the messages of a stream, DiscoveryResponse or DeltaDiscoveryResponse, while they arrive. A resource
// that may name other resources is kept until it is complete. For any other resource, only the beginning is kept, which
// shows the resource's type.
type incoming struct {
	in interface {
		io.Reader
		io.ByteReader
	}
	delta bool
	left  uint64 // bytes of the message that have not arrived
}

// Field numbers in both kinds of message. The version of a delta response is for debugging only. The names of removed
// resources are in delta responses only.
const (
	fieldVersion   = 1
	fieldResources = 2
	fieldType      = 4
	fieldNonce     = 5
	fieldRemoved   = 6
)

const (
	// peek is the number of bytes at the beginning of a resource that must hold its type.
	peek = 512
	// mostPiece is the number of bytes that are read at a time.
	mostPiece = 4096
	// mostKept is the largest size of a resource that names other resources, in bytes.
	mostKept = 64 << 20
)

// response is the parsed content of one response message.
type response struct {
	content             []byte // content of the field being parsed
	url, version, nonce []byte
	names               []string // names of other resources in the message's resources
	removed             []string // names of removed resources, in a delta response
	wrong               error    // reason why the sidecar rejects the response
}

// responses holds response values for reuse, unless they have grown large.
var responses = sync.Pool{New: func() any { return new(response) }}

const largeWork = 1 << 20

func (w *response) free() {
	if cap(w.content) > largeWork {
		return
	}
	clear(w.names)
	clear(w.removed)
	*w = response{content: w.content[:0], url: w.url[:0], version: w.version[:0], nonce: w.nonce[:0], names: w.names[:0], removed: w.removed[:0]}
	responses.Put(w)
}

// next reads one message, and calls respond with its content and its size in bytes.
func (m *incoming) next(respond func(w *response, size int) error) error {
	prefix := make([]byte, 5) // of a gRPC message: a compression flag and the length
	if _, err := io.ReadFull(m.in, prefix); err != nil {
		return err
	}
	if prefix[0] != 0 {
		return malformedf("a compressed message, which was not offered")
	}
	size := binary.BigEndian.Uint32(prefix[1:])
	m.left = uint64(size)
	w := responses.Get().(*response)
	defer w.free()
	for m.left > 0 {
		if err := m.field(w); err != nil {
			return err
		}
	}
	return respond(w, int(size))
}

// number reads a number: a tag, a length or a value.
func (m *incoming) number() (n uint64, err error) {
	for shift := 0; shift < 70; shift += 7 {
		if m.left == 0 {
			return 0, malformedf("a message that ends within a field")
		}
		m.left--
		b, err := m.in.ReadByte()
		if err != nil {
			return 0, err
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, nil
		}
	}
	return 0, malformedf("a number of more than ten bytes")
}

// field reads one field of the message.
func (m *incoming) field(w *response) error {
	tag, err := m.number()
	if err != nil {
		return err
	}
	field, kind := protowire.DecodeTag(tag)
	size := uint64(0)
	switch kind {
	case protowire.BytesType:
		size, err = m.number()
	case protowire.VarintType:
		_, err = m.number()
		return err
	case protowire.Fixed32Type:
		field, size = 0, 4
	case protowire.Fixed64Type:
		field, size = 0, 8
	default:
		return malformedf("a field of the unknown kind %d", kind)
	}
	if err != nil {
		return err
	}
	if size > m.left {
		return malformedf("a field longer than its message")
	}
	m.left -= size
	return m.content(w, field, size)
}

// content reads the content of a field, and keeps it if a sidecar needs it.
func (m *incoming) content(w *response, field protowire.Number, size uint64) error {
	w.content = w.content[:0]
	keep := false
	switch field {
	case fieldVersion, fieldType, fieldNonce:
		keep = true
	case fieldRemoved: // a state-of-the-world response has the server's identity in this field
		keep = m.delta
	case fieldResources:
		begins := min(size, peek)
		if err := w.read(m.in, begins); err != nil {
			return err
		}
		size -= begins
		keep = m.matters(w.content)
	}
	switch {
	case !keep:
		_, err := io.CopyN(io.Discard, m.in, int64(size))
		return err
	case field == fieldResources && size > mostKept:
		return malformedf("a resource of more than %d bytes", mostKept)
	case field != fieldResources && size > mostHead:
		return malformedf("field %d of more than %d bytes", field, mostHead)
	}
	if err := w.read(m.in, size); err != nil {
		return err
	}
	w.take(field, m.delta)
	return nil
}

// read appends size bytes to the content. The memory grows only as the bytes arrive.
func (w *response) read(from io.Reader, size uint64) error {
	for size > 0 {
		n, piece := len(w.content), min(size, mostPiece)
		w.content = slices.Grow(w.content, int(piece))[:n+int(piece)]
		if _, err := io.ReadFull(from, w.content[n:]); err != nil {
			return err
		}
		size -= piece
	}
	return nil
}

// matters reports, from the beginning of a resource, whether the resource may name other resources.
func (m *incoming) matters(begins []byte) bool {
	url, ok := begins, true
	if m.delta {
		url, ok = wrapped(begins)
	}
	if ok {
		url, ok = first(url)
	}
	if !ok { // the fields are not in the order of their numbers
		return true
	}
	_, refers := typed(url).next()
	return refers
}

// take keeps the content of a complete field.
func (w *response) take(field protowire.Number, delta bool) {
	switch field {
	case fieldVersion:
		w.version = append(w.version[:0], w.content...)
	case fieldType:
		w.url = append(w.url[:0], w.content...)
	case fieldNonce:
		w.nonce = append(w.nonce[:0], w.content...)
	case fieldRemoved:
		w.removed = append(w.removed, string(w.content))
	case fieldResources:
		var err error
		if w.names, err = named(w.names, w.content, delta); err != nil {
			w.wrong = err
		}
	}
}
