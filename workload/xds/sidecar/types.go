package sidecar

import "slices"

// Type is what a resource is.
type Type uint8

// The types that a sidecar subscribes to, and whatever else a server may send.
const (
	CDS   Type = iota // clusters
	EDS               // endpoints
	LDS               // listeners
	RDS               // routes
	Other             // none of these
)

const types = int(Other)

var urls = [types]string{
	"type.googleapis.com/envoy.config.cluster.v3.Cluster",
	"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
	"type.googleapis.com/envoy.config.listener.v3.Listener",
	"type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
}

// typed is the type of that URL.
func typed(url []byte) Type {
	if i := slices.IndexFunc(urls[:], func(u string) bool { return u == string(url) }); i >= 0 {
		return Type(i)
	}
	return Other
}

// leads says resources of which type those of this one name.
func (t Type) leads() (Type, bool) { return t + 1, t == CDS || t == LDS }
