package sidecar

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// request is a DiscoveryRequest, or a DeltaDiscoveryRequest.
type request struct {
	of      Type
	node    []byte   // the sidecar's node; only in the first request of a stream
	names   []string // names of all resources that the sidecar asks for; in a delta request: only the additional names
	gone    []string // names no longer asked for; delta only
	version string   // version that the sidecar has; not in a delta request
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

// append appends the encoded message to b. A delta request that acknowledges or rejects a response names no
// resources.
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

// Node is the identity that a sidecar gives the server.
type Node struct {
	ID       string          `json:"id"`
	Cluster  string          `json:"cluster,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object
}

// Encode returns the node as a protocol buffers message, with the variables in its texts replaced.
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
