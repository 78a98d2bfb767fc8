// Package kube is the testbed on a Kubernetes cluster: sites are namespaces with
// pods on nodes, made through client-go.
//
// A site (Site) is asked for by Open, shaped by the arm's layers (ShapeNamespace,
// ShapePods, ShapeVolume, Apply), and made by Ready. It stays up until it is closed, or
// to the end of the run: a trial is a few messages to the agents in its pods (package agent), so
// that API server, kubelet and container runtime do nothing for Tare while a trial
// runs. What does work are the agents themselves: they wait for the program, and
// with accounting: node the one on the node reads the pod's cgroups when a program
// starts and ends, and four times a second in between (BenchmarkRead in agent/cgroup).
//
// The rooms below, each of which knows only those above it in this list:
//
//	cluster     connects to a cluster, waits, and says what the cluster says
//	inventory   what runs have made on a cluster, and how it is removed
//	placement   which nodes an arm runs on
//	agent       what runs in the pods, and the connection to it; it reads the node's
//	            counters with agent/cgroup
//	pods        makes the pods of a run, and makes them again
//	accounting  what pods use, and what else happens on their nodes
//
// Everything that is made is recorded in the cluster before it is made and carries
// the owner's label, so that Close, or inventory.Clean after kill -9, removes exactly
// that. Every wait has a limit and says what it waited for, with the events and the
// last log lines of the pods.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/pods"
)

// Testbed makes sites on one cluster or several.
type Testbed struct {
	run *run

	mu      sync.Mutex
	number  int // of sites so far
	sites   []*Site
	retired []*Site             // closed ones, whose namespaces are there still
	missing *accounting.Missing // nil: nobody has looked yet
}

var (
	_ testbed.Testbed = (*Testbed)(nil)
	_ testbed.Staged  = (*Site)(nil)
	_ testbed.Network = (*Site)(nil)
	_ testbed.Volume  = (*Site)(nil)
	_ testbed.Mender  = (*Site)(nil)
)

// New makes a testbed. It does not talk to any cluster yet. Close it.
func New(o Options) (*Testbed, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	session, err := inventory.NewSession(o.Run)
	if err != nil {
		return nil, fmt.Errorf("the run's id for its records on clusters: %w", err)
	}
	return &Testbed{run: &run{options: o, session: session, on: map[string]*clusterRun{}}}, nil
}

// Open asks for a site. Nothing is made on a cluster before Ready, or before a
// layer applies something.
func (t *Testbed) Open(ctx context.Context, want testbed.Request) (testbed.Site, error) {
	level, ok := want.Level.(*experiment.Kubernetes)
	if !ok || level == nil {
		return nil, fmt.Errorf("site %s: a site on a cluster needs the parameters of a testbed on Kubernetes, not %T", want.Name, want.Level)
	}
	if len(level.Secrets) > 0 && level.Namespace == "" {
		return nil, fmt.Errorf("testbed.kubernetes.imagePullSecrets are in a namespace that exists: name it by testbed.kubernetes.namespace")
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

// opened lists the sites that were asked for so far.
func (t *Testbed) opened() []*Site {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sites)
}

// Close removes everything that was made, whatever became of the caller's context: it
// has limits of its own.
func (t *Testbed) Close() error {
	there, host := t.run.close()
	for _, s := range t.opened() {
		for _, p := range s.all() {
			p.Disconnect() // it goes now
		}
	}
	var errs []error
	for _, on := range there {
		errs = append(errs, on.close())
	}
	if host != nil {
		errs = append(errs, host.Close())
	}
	return errors.Join(errs...)
}
