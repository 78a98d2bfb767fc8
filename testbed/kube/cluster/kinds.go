package cluster

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mapping finds the resource of a kind. That the cluster has no such kind is an
// error that meta.IsNoMatchError knows; it is asked anew before that is said, since
// the kind may have been installed in the meantime.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.mapper.Reset()
	return c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}
