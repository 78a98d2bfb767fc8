package sidecar

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// incoming parses a stream's messages (DiscoveryResponse or DeltaDiscoveryResponse) while they arrive. Of a resource
// that cannot name other resources, incoming keeps only the first bytes, for the type.
type incoming struct {
	in interface {
		io.Reader
		io.ByteReader
	}
	delta bool
	left  uint64 // bytes of the message that have not arrived
}

// Field numbers of both kinds of response. Only delta responses have names of removed resources. A sidecar needs no
// version of a delta response.
const (
	fieldVersion   = 1
	fieldResources = 2
	fieldType      = 4
	fieldNonce     = 5
	fieldRemoved   = 6
)

const (
	// peek is the number of bytes at the beginning of each resource that are always kept. The resource's type must
	// stand within these first bytes.
	peek = 512
	// mostPiece is the number of bytes that are read at a time.
	mostPiece = 4096
	// mostKept is the largest size of a resource that names other resources, in bytes.
	mostKept = 64 << 20
)

// response is the parsed content of one response message.
type response struct {
	content             []byte // content of the field that is being parsed
	url, version, nonce []byte
	names               []string // names of other resources, found in the resources of this message
	removed             []string // names of removed resources, in a delta response
	wrong               error    // reason why the sidecar rejects the response
}

// responses keeps used values of type response for later use. Large values are not kept.
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
	prefix := make([]byte, 5) // prefix of a gRPC message: a compression flag and the length
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

// content reads the content of a field of a message. If a sidecar needs the content, content calls the method take with
// it.
func (m *incoming) content(w *response, field protowire.Number, size uint64) error {
	w.content = w.content[:0]
	keep := false
	switch field {
	case fieldVersion, fieldType, fieldNonce:
		keep = true
	case fieldRemoved: // only in an incremental (delta) response does this field list removed resources
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

// matters reports whether a resource may name other resources, by the type in its first bytes. It is true if the type
// is missing there.
func (m *incoming) matters(begins []byte) bool {
	url, ok := begins, true
	if m.delta {
		url, ok = wrapped(begins)
	}
	if ok {
		url, ok = first(url)
	}
	if !ok { // the type is not at the beginning, so the resource may name other resources
		return true
	}
	_, refers := typed(url).next()
	return refers
}

// take stores the content of a response's field once the content is complete.
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

// request is a DiscoveryRequest, or a DeltaDiscoveryRequest.
type request struct {
	of      Type
	node    []byte   // the sidecar's node; only in the first request of a stream
	names   []string // names of all resources that the sidecar asks for; in a delta request: only the additional names
	gone    []string // names that the sidecar no longer needs; only in a delta request
	version string   // version that the sidecar has now; a delta request has none
	nonce   string   // nonce of the response that this request acknowledges or rejects
	wrong   error    // reason for rejecting the response; nil: the sidecar accepts the response
}

// numbers holds the numbers of the fields in a DiscoveryRequest (ofSotW) or a DeltaDiscoveryRequest
// (ofDelta); 0: the message has no such field.
type numbers struct{ node, version, names, gone, url, nonce, wrong protowire.Number }

var (
	ofSotW  = numbers{version: 1, node: 2, names: 3, url: 4, nonce: 5, wrong: 6}
	ofDelta = numbers{node: 1, url: 2, names: 3, gone: 4, nonce: 6, wrong: 7}
)

// append appends the encoded message to b. A delta request with a nonce acknowledges or rejects a response, and
// names no resources.
func (r request) append(b []byte, delta bool) []byte {
	n := ofSotW
	if delta {
		n = ofDelta
		if r.nonce != "" {
			r.names = nil
		}
	}
	text := func(field protowire.Number, s string) {
		if s != "" && field > 0 {
			b = appendText(b, field, s)
		}
	}
	if len(r.node) > 0 {
		b = appendBytes(b, n.node, r.node)
	}
	text(n.version, r.version)
	for _, name := range r.names {
		text(n.names, name)
	}
	for _, name := range r.gone {
		text(n.gone, name)
	}
	text(n.url, urls[r.of])
	text(n.nonce, r.nonce)
	if r.wrong != nil {
		// A google.rpc.Status with INVALID_ARGUMENT, as Envoy sends it.
		status := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
		b = appendBytes(b, n.wrong, appendText(status, 2, r.wrong.Error()))
	}
	return b
}

func appendText(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func appendBytes(b []byte, n protowire.Number, p []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), p)
}

// Node is how a sidecar identifies itself to the server.
type Node struct {
	ID       string          `json:"id"`
	Cluster  string          `json:"cluster,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object
}

// Encode returns the node as a protocol buffers message. It replaces variables, such as $(TARE_INDEX), in the node's
// texts.
func (n Node) Encode(fill *strings.Replacer) ([]byte, error) {
	b := appendText(nil, 1, fill.Replace(n.ID))
	if n.Cluster != "" {
		b = appendText(b, 2, fill.Replace(n.Cluster))
	}
	if len(n.Metadata) > 0 {
		var metadata map[string]any
		if err := json.Unmarshal(n.Metadata, &metadata); err != nil {
			return nil, fmt.Errorf("the metadata of the node: %w", err)
		}
		b = appendBytes(b, 3, object(metadata, fill))
	}
	return appendText(b, 6, "tare"), nil // user_agent_name
}

// object encodes a map as a google.protobuf.Struct.
func object(m map[string]any, fill *strings.Replacer) (b []byte) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		b = appendBytes(b, 1, appendBytes(appendText(nil, 1, name), 2, anything(m[name], fill)))
	}
	return b
}

// anything encodes a decoded JSON value as a google.protobuf.Value.
func anything(v any, fill *strings.Replacer) (b []byte) {
	switch v := v.(type) {
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(nil, 2, protowire.Fixed64Type), math.Float64bits(v))
	case string:
		return appendText(nil, 3, fill.Replace(v))
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), protowire.EncodeBool(v))
	case map[string]any:
		return appendBytes(nil, 5, object(v, fill))
	case []any:
		for _, one := range v {
			b = appendBytes(b, 1, anything(one, fill))
		}
		return appendBytes(nil, 6, b)
	}
	return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 0) // null
}
