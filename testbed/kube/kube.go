// Package kube is the testbed on a Kubernetes cluster: sites are namespaces with
// pods on nodes, made through client-go.
//
// A site (Site) is asked for by Open, shaped by the arm's layers (ShapeNamespace,
// ShapePods, ShapeVolume, Apply), and made by Ready. It stays up for the whole
// run: a trial is a few messages to the agents in its pods (package agent), so
// that API server, kubelet and container runtime do nothing for Tare while a trial
// runs. What does work are the agents themselves: they wait for the program, and
// with accounting: node the one on the node reads the pod's cgroups when a program
// starts and ends, and four times a second in between (BenchmarkLook).
//
// Everything that is made is recorded in the cluster before it is made and
// carries the owner's label, so that Close, or Clean after kill -9, removes
// exactly that. Every wait has a limit and says what it waited for, with the
// events and the last log lines of the pods.
package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/local"
)

// Container is the name of the container in which programs run.
const Container = "tare"

// Options are what a testbed needs besides the experiment.
type Options struct {
	Kubeconfig string // path; "" for the usual ones
	Version    string // of Tare
	Run        string // run directory, for the record in the cluster; an id is kept there
	// Resumed says that the run goes on: what its earlier sessions have left on a
	// cluster is removed there first.
	Resumed bool
	// Say takes a line of progress ("waiting for pod …: pulling the image"); nil drops it.
	Say func(string)
}

// Testbed makes sites on one cluster or several.
type Testbed struct {
	options Options
	session inventory.Session

	connecting sync.Mutex // held for long, so that Close does not take it; comes before mu

	mu     sync.Mutex
	closed bool
	number int // of sites so far
	on     map[string]*presence
	sites  []*Site
	gaps   *gaps          // nil: not looked for yet
	host   *local.Testbed // made when first needed
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
	return &Testbed{options: o, session: session, on: map[string]*presence{}}, nil
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	t.number++
	s := &Site{
		bed: t, arm: want.Name, needs: want.Needs, level: level, context: level.Context,
		unique: siteName(t.session.Owner, t.number, want.Name), pods: map[testbed.Place]*pod{},
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

// presence gives what the run has on the cluster of a context, and connects when
// it is first asked for.
func (t *Testbed) presence(ctx context.Context, name string, limits experiment.Timeouts) (*presence, error) {
	t.connecting.Lock()
	defer t.connecting.Unlock()
	if on, err := t.connected(name); on != nil || err != nil {
		return on, err
	}
	c, err := cluster.Connect(ctx, cluster.Options{Kubeconfig: t.options.Kubeconfig, Version: t.options.Version, Say: t.options.Say}, name, limits)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	on := newPresence(t, c, limits)
	t.on[name] = on
	return on, nil
}

var errClosed = errors.New("testbed on Kubernetes: already closed")

// connected gives what the run has on a cluster; nil before it is connected.
func (t *Testbed) connected(name string) (*presence, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	return t.on[name], nil
}

// onHost starts a program on the machine that Tare itself runs on.
func (t *Testbed) onHost(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if t.host == nil {
		host, err := local.New()
		if err != nil {
			return nil, err
		}
		t.host = host
	}
	site, err := t.host.Open(ctx, testbed.Request{Name: "host"})
	if err != nil {
		return nil, err
	}
	return site.Start(ctx, testbed.Host, cmd)
}
