package sidecar

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is the type of a resource.
type Type uint8

// The four types that a sidecar asks for, and one value for all other types.
const (
	CDS   Type = iota // clusters
	EDS               // endpoints
	lds               // listeners
	rds               // routes
	other             // any other type
)

const types = int(other)

var urls = [types]string{
	"type.googleapis.com/envoy.config.cluster.v3.Cluster",
	"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	"type.googleapis.com/envoy.config.listener.v3.Listener",
	"type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
}

// typed returns the type with this type URL. For an unknown URL the type is other.
func typed(url []byte) Type {
	if i := slices.IndexFunc(urls[:], func(u string) bool { return u == string(url) }); i >= 0 {
		return Type(i)
	}
	return other
}

// next returns the type of resource that resources of type t name: CDS names EDS, and LDS names RDS. For other types
// the second result is false.
func (t Type) next() (Type, bool) { return t + 1, t == CDS || t == lds }

// Field numbers of the messages of Envoy's API that a sidecar reads.
const (
	anyType, anyValue = 1, 2 // google.protobuf.Any

	deltaResource = 2 // number of the field that holds the resource, in the message Resource of a delta response

	clusterName, clusterType, clusterEDS = 1, 2, 3
	typeEDS                              = 3 // value of clusterType for a cluster whose endpoints come by EDS
	edsService                           = 2 // field number of the service's name in the message of the field clusterEDS

	listenerChains, listenerAPI, listenerDefault = 3, 19, 25
	apiListener                                  = 1
	chainFilters                                 = 3
	filterConfig                                 = 4
	managerRDS                                   = 3 // number of the field rds in the message HttpConnectionManager
	rdsName                                      = 2
)

// manager ends the type URL of HttpConnectionManager, the filter that may ask for routes by name.
var manager = []byte(".HttpConnectionManager")

var errBroken = errors.New("a resource that cannot be read")

// value is the value of one field of a message.
type value struct {
	bytes  []byte // content of a message or a text
	number uint64
}

// fields calls a function with the number and value of every field of a message. A field of a fixed size, such as a
// double, has an empty value.
func fields(b []byte, each func(protowire.Number, value) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errBroken
		}
		b = b[n:]
		var v value
		switch kind {
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errBroken
		}
		b = b[n:]
		if err := each(number, v); err != nil {
			return err
		}
	}
	return nil
}

// within calls the function each with the content of every field of the message b that has the given number.
func within(b []byte, number protowire.Number, each func([]byte) error) error {
	return fields(b, func(n protowire.Number, v value) error {
		if n != number {
			return nil
		}
		return each(v.bytes)
	})
}

// unpack returns the type URL and the value of a google.protobuf.Any.
func unpack(packed []byte) (url, message []byte, err error) {
	err = fields(packed, func(n protowire.Number, v value) error {
		switch n {
		case anyType:
			url = v.bytes
		case anyValue:
			message = v.bytes
		}
		return nil
	})
	return url, message, err
}

// first returns the type URL at the beginning of an Any. The rest of the Any may be missing. If the URL is
// incomplete, first returns ok = false.
func first(packed []byte) (url []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(packed)
	if n < 0 || number != anyType || kind != protowire.BytesType {
		return nil, false
	}
	url, n = protowire.ConsumeBytes(packed[n:])
	return url, n >= 0
}

// wrapped returns the bytes of the Any inside a Resource of a delta response. b has only the Resource's first bytes. ok
// is false if the Any begins after b.
func wrapped(b []byte) (packed []byte, ok bool) {
	for {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		b = b[n:]
		if number == deltaResource && kind == protowire.BytesType {
			_, n = protowire.ConsumeVarint(b) // skips the length of the field
			return b[max(n, 0):], n >= 0
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return nil, false
		}
		b = b[n:]
	}
}

// named appends the names of other resources that a resource refers to.
func named(names []string, resource []byte, delta bool) ([]string, error) {
	if delta {
		packed := resource
		if err := within(packed, deltaResource, func(b []byte) error { resource = b; return nil }); err != nil {
			return names, err
		}
	}
	url, message, err := unpack(resource)
	if err != nil {
		return names, err
	}
	add := func(name []byte) error {
		if len(name) > 0 {
			names = append(names, string(name))
		}
		return nil
	}
	switch typed(url) {
	case CDS:
		err = endpointsOf(message, add)
	case lds:
		err = routesOf(message, add)
	}
	return names, err
}

// endpointsOf calls add with the name by which a sidecar asks for a cluster's endpoints. A cluster without EDS has no
// such name.
func endpointsOf(cluster []byte, add func([]byte) error) error {
	var name, service []byte
	eds := false
	err := fields(cluster, func(n protowire.Number, v value) error {
		switch n {
		case clusterName:
			name = v.bytes
		case clusterType:
			eds = v.number == typeEDS
		case clusterEDS:
			return within(v.bytes, edsService, func(b []byte) error { service = b; return nil })
		}
		return nil
	})
	if err != nil || !eds {
		return err
	}
	return add([]byte(cmp.Or(string(service), string(name))))
}

// routesOf calls the function add with the names of routes that a listener asks for.
func routesOf(listener []byte, add func([]byte) error) error {
	config := func(packed []byte) error {
		url, message, err := unpack(packed)
		if err != nil || !bytes.HasSuffix(url, manager) {
			return err
		}
		return within(message, managerRDS, func(rds []byte) error { return within(rds, rdsName, add) })
	}
	return fields(listener, func(n protowire.Number, v value) error {
		switch n {
		case listenerChains, listenerDefault:
			return within(v.bytes, chainFilters, func(filter []byte) error { return within(filter, filterConfig, config) })
		case listenerAPI:
			return within(v.bytes, apiListener, config)
		}
		return nil
	})
}
