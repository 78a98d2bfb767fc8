package kube

import (
	"slices"
	"strings"

	"tare/internal/experiment"
)

// Use describes what an experiment uses a cluster for, and so the rights that Tare needs. The table of Rights
// is the source of the manifests in hack/deploy/rbac, of tare doctor and of the documentation.
type Use struct {
	Namespace string             // namespace that the experiment names; "" if Tare makes its own
	Network   bool               // the experiment has a server pod and a service
	Volume    bool               // the experiment has persistent volumes
	Observe   []string           // namespaces of observed pods
	Server    bool               // the experiment observes the API server
	More      []experiment.Right // rights that layers and workloads need
}

// UseOf returns the Use of an experiment on the testbed kubernetes.
func UseOf(x *experiment.Experiment) Use {
	var u Use
	if k := x.Testbed.Kubernetes; k != nil {
		u.Namespace = k.Namespace
		for _, o := range k.Observe {
			u.Server = u.Server || o.Server
			if !o.Server && !slices.Contains(u.Observe, o.Namespace) {
				u.Observe = append(u.Observe, o.Namespace)
			}
		}
	}
	add := func(d experiment.Declaration) {
		u.Network = u.Network || d.Needs.Network
		u.Volume = u.Volume || d.Needs.Volumes()
		if d.Rights != nil {
			u.More = append(u.More, d.Rights(u.Namespace)...)
		}
	}
	for _, a := range x.Arms {
		for _, l := range a.Layers {
			add(l.Config.Declare())
		}
	}
	for _, w := range x.Workloads {
		add(w.Config.Declare())
	}
	return u
}

// Everything returns a use that needs every right of the testbed itself.
func Everything(namespace string, observe ...string) Use {
	return Use{Namespace: namespace, Network: true, Volume: true, Observe: observe}
}

// Rights lists the rights that the testbed needs for a use of a cluster, in a fixed order.
func Rights(u Use) []experiment.Right {
	var list []experiment.Right
	here := func(resource, why string, verbs ...string) {
		list = append(list, experiment.Right{Resource: resource, Verbs: verbs, Namespace: u.Namespace, Why: why})
	}
	everywhere := func(resource, why string, verbs ...string) {
		list = append(list, experiment.Right{Resource: resource, Verbs: verbs, Why: why})
	}
	if u.Namespace == "" {
		everywhere("namespaces", "each arm has a namespace of its own, which is deleted at the end",
			"create", "delete", "get", "list", "update")
	}
	everywhere("nodes", "the nodes of client and server are chosen and described", "get", "list")
	here("configmaps", "what Tare makes is recorded, so that it can be removed after a crash",
		"create", "delete", "get", "list", "patch")
	list = append(list, experiment.Right{
		Group: "batch", Resource: "jobs", Verbs: []string{"create", "delete", "get", "patch"}, Namespace: u.Namespace,
		Why: "the cluster removes what a lost run has made: " +
			"it belongs to a Job without pods, whose end a living run puts off"})
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
		list = append(list, experiment.Right{Resource: "pods", Verbs: []string{"list", "watch"}, Namespace: ns,
			Why: "observed pods are found by their labels"})
	}
	if u.Server {
		everywhere("/metrics", "the API server is observed by the counters of its process", "get")
	}
	list = append(list, u.More...)
	return merge(append(list, optional(u)...))
}

// optional lists rights that a run can do without. Without them, the run only records less about the cluster.
func optional(u Use) []experiment.Right {
	var list []experiment.Right
	if u.Namespace != "" {
		list = append(list, experiment.Right{Resource: "namespaces", Verbs: []string{"get"}, Optional: true,
			Why: "the cluster is told from others by the UID of kube-system"})
	}
	if u.Volume {
		list = append(list, experiment.Right{Resource: "persistentvolumes", Verbs: []string{"get"}, Optional: true,
			Why: "the volume that a claim was bound to is recorded"})
	}
	for _, resource := range []string{"daemonsets", "deployments"} {
		list = append(list, experiment.Right{Group: "apps", Resource: resource, Verbs: []string{"list"}, Optional: true,
			Why: "versions of network plug-ins, meshes and the like, and stand-ins, are recorded"})
	}
	return list
}

// merge combines the rights to the same resource in the same namespace, optional only if all of them are.
func merge(list []experiment.Right) []experiment.Right {
	var merged []experiment.Right
	for _, r := range list {
		i := slices.IndexFunc(merged, func(m experiment.Right) bool {
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
