package sidecar

import "slices"

// Type is the type of a resource.
type Type uint8

// The types that a sidecar subscribes to, and one for all other types.
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

// typed returns the type with this type URL.
func typed(url []byte) Type {
	if i := slices.IndexFunc(urls[:], func(u string) bool { return u == string(url) }); i >= 0 {
		return Type(i)
	}
	return other
}

// next returns the type that resources of type t refer to by name, if any.
func (t Type) next() (Type, bool) { return t + 1, t == CDS || t == lds }
