package sidecar

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// incoming reads the messages of a stream, which are DiscoveryResponse or DeltaDiscoveryResponse,
// as they come, piece by piece. Of a resource only what may name others is kept until it is whole;
// of all others no more than says what they are.
type incoming struct {
	delta bool

	state state
	shift uint8  // of the number under way, in bits; in a prefix: in bytes
	value uint64 // of the number under way
	left  uint64 // bytes of the message that are still to come
	need  uint64 // of the field
	field protowire.Number
	skip  bool  // the rest of the field is not kept
	size  int   // of the message, in bytes
	work  *work // nil between messages
}

// state is what comes next.
type state uint8

const (
	prefix state = iota // of a gRPC message: whether it is compressed, and its length
	tag
	length
	number
	content
)

// The fields of both messages that are read. The version of a delta response is for debugging
// only, and removed is of it alone.
const (
	fieldVersion   = 1
	fieldResources = 2
	fieldType      = 4
	fieldNonce     = 5
	fieldRemoved   = 6
)

const (
	// peek is in how many bytes of a resource its type is found.
	peek = 512
	// mostKept is how large a resource that names others may be.
	mostKept = 64 << 20
)

// work is what is known of one message.
type work struct {
	content             []byte // of the field under way
	url, version, nonce []byte
	names               []string // that its resources have of others
	removed             []string // names of resources that are gone, of a delta response
	wrong               error    // why the response cannot be accepted
}

// of is the type of the response's resources.
func (w *work) of() Type { return typed(w.url) }

// works are kept for the next message, unless they have grown large.
var works = sync.Pool{New: func() any { return new(work) }}

const largeWork = 1 << 20

func (w *work) free() {
	if cap(w.content) > largeWork {
		return
	}
	clear(w.names)
	clear(w.removed)
	*w = work{content: w.content[:0], url: w.url[:0], version: w.version[:0], nonce: w.nonce[:0], names: w.names[:0], removed: w.removed[:0]}
	works.Put(w)
}

// take takes a piece of the stream, and hands each message that is whole to respond.
func (m *incoming) take(p []byte, respond func(w *work, size int) error) error {
	for {
		if m.state != prefix && m.left == 0 {
			if m.state != tag || m.shift > 0 {
				return malformedf("a message that ends within a field")
			}
			w := m.work
			m.work, m.state = nil, prefix
			err := respond(w, m.size)
			w.free()
			if err != nil {
				return err
			}
		}
		if len(p) == 0 {
			return nil
		}
		var err error
		switch m.state {
		case prefix:
			err = m.begin(p[0])
			p = p[1:]
		case content:
			n := min(uint64(len(p)), m.need)
			m.left, m.need = m.left-n, m.need-n
			err = m.gather(p[:n])
			p = p[n:]
		default:
			m.left--
			err = m.digit(p[0])
			p = p[1:]
		}
		if err != nil {
			return err
		}
	}
}

// begin takes a byte of the prefix.
func (m *incoming) begin(b byte) error {
	m.value = m.value<<8 | uint64(b)
	if m.shift++; m.shift < 5 {
		return nil
	}
	if m.value>>32 != 0 {
		return malformedf("a compressed message, which was not offered")
	}
	m.left, m.size, m.work = m.value, int(m.value), works.Get().(*work)
	m.expect(tag)
	return nil
}

// expect begins what comes next.
func (m *incoming) expect(s state) { m.state, m.shift, m.value = s, 0, 0 }

// digit takes a byte of a number: a tag, a length or a value that is skipped.
func (m *incoming) digit(b byte) error {
	if m.shift > 63 {
		return malformedf("a number of more than ten bytes")
	}
	m.value |= uint64(b&0x7f) << m.shift
	if m.shift += 7; b >= 0x80 {
		return nil
	}
	switch value := m.value; m.state {
	case tag:
		return m.begun(value)
	case length:
		return m.contains(value)
	}
	m.expect(tag)
	return nil
}

// begun takes the tag of a field.
func (m *incoming) begun(value uint64) error {
	field, kind := protowire.DecodeTag(value)
	m.field = field
	switch kind {
	case protowire.BytesType:
		m.expect(length)
		return nil
	case protowire.VarintType:
		m.expect(number)
		return nil
	case protowire.Fixed32Type:
		m.field = 0
		return m.contains(4)
	case protowire.Fixed64Type:
		m.field = 0
		return m.contains(8)
	}
	return malformedf("a field of the unknown kind %d", kind)
}

// contains takes the length of a field.
func (m *incoming) contains(size uint64) error {
	if size > m.left {
		return malformedf("a field longer than its message")
	}
	m.expect(content)
	m.need = size
	switch m.field {
	case fieldVersion, fieldResources, fieldType, fieldNonce:
		m.skip = false
	case fieldRemoved: // of the state of the world it is who the server is
		m.skip = !m.delta
	default:
		m.skip = true
	}
	m.work.content = m.work.content[:0]
	return m.gather(nil)
}

// gather takes a piece of a field.
func (m *incoming) gather(p []byte) error {
	w := m.work
	if !m.skip {
		w.content = append(w.content, p...)
	}
	if m.field == fieldResources && !m.skip {
		if len(w.content) >= peek || m.need == 0 {
			m.skip = !m.matters(w.content)
		}
		if len(w.content) > mostKept {
			return malformedf("a resource of more than %d bytes", mostKept)
		}
	} else if !m.skip && len(w.content) > mostHead {
		return malformedf("field %d of more than %d bytes", m.field, mostHead)
	}
	if m.need > 0 {
		return nil
	}
	if !m.skip {
		w.take(m.field, m.delta)
	}
	m.expect(tag)
	return nil
}

// matters says whether a resource may name others, by how it begins.
func (m *incoming) matters(begins []byte) bool {
	url, ok := begins, true
	if m.delta {
		url, ok = wrapped(begins)
	}
	if ok {
		url, ok = first(url)
	}
	if !ok { // in another order than that of its fields
		return true
	}
	_, leads := typed(url).leads()
	return leads
}

// take takes a field that is whole.
func (w *work) take(field protowire.Number, delta bool) {
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
