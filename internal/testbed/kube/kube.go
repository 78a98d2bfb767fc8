// Package kube is the testbed on a Kubernetes cluster: sites are namespaces with
// pods on nodes, made through client-go.
//
// Open returns a site (Site), the arm's layers change it (ShapeNamespace, ShapePods,
// ShapeVolume, Apply), and Ready makes its objects. It stays up until it is closed, or to
// the end of the run. A trial is a few messages to the agents in its pods (package agent).
// API server, kubelet and container runtime do nothing for Tare while a trial runs. Only
// the agents work: they wait for the program, and with "accounting: node" the agent on the
// node reads the pod's cgroups when a program starts and ends, and four times a second in
// between (BenchmarkRead in agent/cgroup).
//
// The packages below; each imports only packages above it in this list:
//
//	cluster     connects to a cluster, waits for states, and explains its errors
//	inventory   records the objects that runs make on a cluster, and removes them
//	placement   chooses the nodes that an arm runs on
//	agent       is Tare's process in the pods, and the connection to it; it reads the
//	            node's counters with agent/cgroup
//	pods        makes the pods of a run, and replaces lost ones
//	accounting  measures the resources that pods use, and other load on their nodes
//
// Every object is recorded in the cluster before it is made, and carries the owner's
// label. Close, or inventory.Clean after kill -9, removes exactly these objects. Every
// wait has a limit. Its error names the awaited state, with the events and the last log
// lines of the pods.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// Testbed makes sites on one or more clusters.
type Testbed struct {
	run *run

	mu      sync.Mutex
	number  int                 // number of sites with a name of their own so far
	sites   []*Site             // open sites
	retired []*Site             // closed sites, whose namespaces still exist
	missing *accounting.Missing // counters missing in some arm; nil before Describe
}

var (
	_ testbed.Testbed = (*Testbed)(nil)
	_ testbed.Staged  = (*Site)(nil)
	_ testbed.Network = (*Site)(nil)
	_ testbed.Volume  = (*Site)(nil)
	_ testbed.Mender  = (*Site)(nil)
)

// New makes a testbed, which the caller must close. It does not connect to a cluster yet.
func New(o Options) (*Testbed, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	session, err := inventory.NewSession(o.Run)
	if err != nil {
		return nil, fmt.Errorf("the run's id for its records on clusters: %w", err)
	}
	return &Testbed{run: &run{options: o, session: session, clusters: map[string]*clusterRun{}}}, nil
}

// Open returns a new site. Its first object is made by Ready, or when a layer applies one.
func (t *Testbed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	level, ok := want.Level.(*experiment.Kubernetes)
	if !ok || level == nil {
		return nil, fmt.Errorf("site %s: a site on a cluster needs the parameters of a testbed on Kubernetes, not %T",
			want.Name, want.Level)
	}
	if len(level.Secrets) > 0 && level.Namespace == "" {
		return nil, errors.New("testbed.kubernetes.imagePullSecrets are in a namespace that exists: " +
			"name it by testbed.kubernetes.namespace")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, err := t.run.connected(level.Context); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Site{
		run: t.run, bed: t, arm: want.Name, needs: want.Needs, level: level, context: level.Context,
		pods: map[testbed.Place]*pods.Pod{},
	}
	if !t.reuse(s) {
		t.number++
		s.unique = siteName(t.run.session.Owner, t.number, want.Name)
	}
	t.sites = append(t.sites, s)
	return s, nil
}

func (t *Testbed) opened() []*Site {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sites)
}

// Close removes all objects of the run from its clusters. It has time limits of its own,
// so it also works after the run's context has ended.
func (t *Testbed) Close() error {
	clusters, host := t.run.close()
	for _, s := range t.opened() {
		for _, p := range s.podList() {
			p.Disconnect() // the pod is about to be deleted
		}
	}
	var errs []error
	for _, on := range clusters {
		errs = append(errs, on.close())
	}
	if host != nil {
		errs = append(errs, host.Close())
	}
	return errors.Join(errs...)
}
