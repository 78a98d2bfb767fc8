package inventory

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"tare/testbed/kube/cluster"
)

// kinds are the resources that an API server serves.
type kinds struct {
	namespaced map[schema.GroupVersionResource]bool
	away       map[schema.GroupVersion]error // whose API server does not answer
}

// served asks for them.
func served(c *cluster.Cluster) (kinds, error) {
	k := kinds{namespaced: map[schema.GroupVersionResource]bool{}}
	_, lists, err := c.Client.Discovery().ServerGroupsAndResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if errors.As(err, &partly) {
		k.away = partly.Groups
	} else if err != nil {
		return k, fmt.Errorf("which kinds of objects the cluster knows: %w", cluster.Explain(err))
	}
	for _, l := range lists {
		gv, bad := schema.ParseGroupVersion(l.GroupVersion)
		if bad != nil {
			continue
		}
		for _, r := range l.APIResources {
			k.namespaced[gv.WithResource(r.Name)] = r.Namespaced
		}
	}
	return k, nil
}

// lacks says that no such object can exist on the cluster. It does not say so of
// kinds whose API server is away: what they have cannot be deleted now, which is an
// error, so that the record stays.
func (k kinds) lacks(i Item) bool {
	if k.away[i.gvr().GroupVersion()] != nil {
		return false
	}
	namespaced, known := k.namespaced[i.gvr()]
	return !known || namespaced != (i.Namespace != "")
}
