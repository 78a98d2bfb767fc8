package kube

import (
	"slices"
	"strings"

	"tare/experiment"
)

// Right is what Tare asks of one kind of objects of a cluster. The table of them
// (Rights) is the only one: the manifests in deploy/rbac, tare doctor and the
// documentation are made from it.
type Right struct {
	Group    string // "" for the core group
	Resource string // with the subresource: "pods/exec"
	Verbs    []string
	// Namespace is where the right is needed; "" for the whole cluster.
	Namespace string
	Why       string // what it is for: "programs are started through an agent in the pod"
	// Optional is a right without which a run only tells less.
	Optional bool
}

// Name is the resource as kubectl and manifests have it: "daemonsets.apps".
func (r Right) Name() string {
	resource, sub, has := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if has {
		resource += "/" + sub
	}
	return resource
}

// Use is what an experiment makes of a cluster, as far as rights depend on it.
type Use struct {
	Namespace string // that is given; "": Tare makes its own
	Network   bool   // pods on two nodes, and a service
	Volume    bool
	Observe   []string // namespaces of the observed pods
	More      []Right  // of layers and workloads
}

// Asking is a layer or a workload that needs rights of its own: for what it
// applies, makes or reads. The namespace is where its arm's pods are; "" for one
// that Tare makes.
type Asking interface {
	Rights(namespace string) []Right
}

// Elsewhere is a layer that puts its arm on the cluster of another context.
type Elsewhere interface {
	OtherContext() string
}

// Shaping is a layer whose Up only changes what its site is asked to be, and
// nothing on a cluster, so that a site with it can be tried (Site.Try).
type Shaping interface {
	Shapes()
}

// UseOf is what an experiment on the testbed kubernetes makes of its cluster.
func UseOf(x *experiment.Experiment) Use {
	var u Use
	if k := x.Testbed.Kubernetes; k != nil {
		u.Namespace = k.Namespace
		for _, o := range k.Observe {
			if !slices.Contains(u.Observe, o.Namespace) {
				u.Observe = append(u.Observe, o.Namespace)
			}
		}
	}
	add := func(needs experiment.Needs, config any) {
		u.Network = u.Network || needs.Network
		u.Volume = u.Volume || needs.Volume != nil
		if a, ok := config.(Asking); ok {
			u.More = append(u.More, a.Rights(u.Namespace)...)
		}
	}
	for _, a := range x.Arms {
		for _, l := range a.Layers {
			add(l.Config.Needs(), l.Config)
		}
	}
	for _, w := range x.Workloads {
		add(w.Config.Needs(), w.Config)
	}
	return u
}

// Everything is the use that needs every right of the testbed itself.
func Everything(namespace string, observe ...string) Use {
	return Use{Namespace: namespace, Network: true, Volume: true, Observe: observe}
}

// Rights lists what the testbed needs for a use of a cluster, in a fixed order.
func Rights(u Use) []Right {
	var list []Right
	here := func(resource, why string, verbs ...string) {
		list = append(list, Right{Resource: resource, Verbs: verbs, Namespace: u.Namespace, Why: why})
	}
	everywhere := func(resource, why string, verbs ...string) {
		list = append(list, Right{Resource: resource, Verbs: verbs, Why: why})
	}
	if u.Namespace == "" {
		everywhere("namespaces", "each arm has a namespace of its own, which is deleted at the end", "create", "delete", "get", "list", "update")
	}
	everywhere("nodes", "the nodes of client and server are chosen and described", "get", "list")
	here("configmaps", "what Tare makes is recorded, so that it can be removed after a crash", "create", "delete", "get", "list", "patch")
	here("pods", "programs run in pods", "create", "delete", "get")
	here("pods/exec", "programs are started through an agent in the pod", "create", "get")
	here("pods/log", "errors show the last lines of a pod's log", "get")
	here("events", "errors show what the cluster says of a pod", "list")
	if u.Network {
		here("services", "the path pod-to-service", "create", "delete", "get")
	}
	if u.Volume {
		here("persistentvolumeclaims", "the volume of the client's pod", "create", "delete", "get")
	}
	for _, ns := range u.Observe {
		list = append(list, Right{Resource: "pods", Verbs: []string{"list", "watch"}, Namespace: ns, Why: "observed pods are found by their labels"})
	}
	list = append(list, u.More...)
	return merge(append(list, optional(u)...))
}

// optional are the rights without which the record of the cluster is shorter.
func optional(u Use) []Right {
	var list []Right
	if u.Namespace != "" {
		list = append(list, Right{Resource: "namespaces", Verbs: []string{"get"}, Optional: true,
			Why: "the cluster is told from others by the UID of kube-system"})
	}
	if u.Volume {
		list = append(list, Right{Resource: "persistentvolumes", Verbs: []string{"get"}, Optional: true, Why: "the volume that a claim was bound to is recorded"})
	}
	for _, resource := range []string{"daemonsets", "deployments"} {
		list = append(list, Right{Group: "apps", Resource: resource, Verbs: []string{"list"}, Optional: true,
			Why: "versions of network plug-ins, meshes and the like are recorded"})
	}
	return list
}

// merge makes one right of those on the same resource in the same namespace.
// What is needed is not optional any more.
func merge(list []Right) []Right {
	var merged []Right
	for _, r := range list {
		i := slices.IndexFunc(merged, func(m Right) bool {
			return m.Group == r.Group && m.Resource == r.Resource && m.Namespace == r.Namespace
		})
		if i < 0 {
			r.Verbs = slices.Sorted(slices.Values(r.Verbs))
			merged = append(merged, r)
			continue
		}
		m := &merged[i]
		m.Verbs = append(slices.Clone(m.Verbs), r.Verbs...)
		slices.Sort(m.Verbs)
		m.Verbs = slices.Compact(m.Verbs)
		if !strings.Contains(m.Why, r.Why) {
			m.Why += "; " + r.Why
		}
		m.Optional = m.Optional && r.Optional
	}
	return merged
}
