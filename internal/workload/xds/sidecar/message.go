package sidecar

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// incoming parses the messages of a stream, DiscoveryResponse or DeltaDiscoveryResponse, piece by piece as
// they arrive. A resource that may name other resources is kept until it is complete. For any other resource,
// only the beginning is kept, which shows the resource's type.
type incoming struct {
	delta bool

	state    state
	shift    uint8  // bits read so far of the number being parsed; in a prefix: bytes
	value    uint64 // value so far of the number being parsed
	left     uint64 // bytes of the message that have not arrived
	need     uint64 // bytes of the field that have not arrived
	field    protowire.Number
	skip     bool      // the rest of the field is not kept
	size     int       // size of the message, in bytes
	response *response // the message being parsed; nil between messages
}

// state is the part of the message that comes next.
type state uint8

const (
	prefix state = iota // prefix of a gRPC message: a compression flag and the length
	tag
	length
	number
	content
)

// Numbers of the fields that are read, in both kinds of message. A delta response has a version for debugging only.
// Only a delta response has removed.
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

// of returns the type of the response's resources.
func (w *response) of() Type { return typed(w.url) }

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

// take parses a piece of the stream, and calls respond for each message that is complete.
func (m *incoming) take(p []byte, respond func(w *response, size int) error) error {
	for {
		if m.state != prefix && m.left == 0 {
			if m.state != tag || m.shift > 0 {
				return malformedf("a message that ends within a field")
			}
			w := m.response
			m.response, m.state = nil, prefix
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
			err = m.prefixByte(p[0])
			p = p[1:]
		case content:
			n := min(uint64(len(p)), m.need)
			m.left, m.need = m.left-n, m.need-n
			err = m.fieldContent(p[:n])
			p = p[n:]
		default:
			m.left--
			err = m.numberByte(p[0])
			p = p[1:]
		}
		if err != nil {
			return err
		}
	}
}

// prefixByte parses one byte of the prefix.
func (m *incoming) prefixByte(b byte) error {
	m.value = m.value<<8 | uint64(b)
	if m.shift++; m.shift < 5 {
		return nil
	}
	if m.value>>32 != 0 {
		return malformedf("a compressed message, which was not offered")
	}
	m.left, m.size, m.response = m.value, int(m.value), responses.Get().(*response)
	m.expect(tag)
	return nil
}

// expect sets the part of the message that comes next.
func (m *incoming) expect(s state) { m.state, m.shift, m.value = s, 0, 0 }

// numberByte parses one byte of a number: a tag, a length or a value that is skipped.
func (m *incoming) numberByte(b byte) error {
	if m.shift > 63 {
		return malformedf("a number of more than ten bytes")
	}
	m.value |= uint64(b&0x7f) << m.shift
	if m.shift += 7; b >= 0x80 {
		return nil
	}
	switch value := m.value; m.state {
	case tag:
		return m.fieldTag(value)
	case length:
		return m.fieldLength(value)
	}
	m.expect(tag)
	return nil
}

// fieldTag handles the tag of a field.
func (m *incoming) fieldTag(value uint64) error {
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
		return m.fieldLength(4)
	case protowire.Fixed64Type:
		m.field = 0
		return m.fieldLength(8)
	}
	return malformedf("a field of the unknown kind %d", kind)
}

// fieldLength handles the length of a field.
func (m *incoming) fieldLength(size uint64) error {
	if size > m.left {
		return malformedf("a field longer than its message")
	}
	m.expect(content)
	m.need = size
	switch m.field {
	case fieldVersion, fieldResources, fieldType, fieldNonce:
		m.skip = false
	case fieldRemoved: // a state-of-the-world response has the server's identity in this field
		m.skip = !m.delta
	default:
		m.skip = true
	}
	m.response.content = m.response.content[:0]
	return m.fieldContent(nil)
}

// fieldContent takes a piece of a field's content.
func (m *incoming) fieldContent(p []byte) error {
	w := m.response
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

// take handles a complete field.
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
