// Package kube is the testbed on a Kubernetes cluster. Its sites are namespaces with pods on nodes, made through
// client-go.
//
// Open returns a site (Site). The arm's layers change the site (ShapeNamespace, ShapePods, ShapeVolume, Apply), and
// Ready makes its objects. The site stays up until it is closed, or until the run ends.
//
// A trial is a few messages to the agents in the site's pods (package agent). During a trial, the agents only wait for
// the program. With "accounting: node", the agent on the node also reads the pod's cgroups: at the start, at the end,
// and four times a second in between (BenchmarkRead in agent/cgroup).
//
// This package uses the packages below. Each of them imports only packages that stand above it in this list:
//
//	cluster     connects to a cluster, waits for states, and explains its errors
//	inventory   records the objects that runs make on a cluster, and removes them
//	placement   chooses the nodes that an arm runs on
//	agent       is Tare's process in the pods, and the connection to it; it reads the
//	            node's counters with agent/cgroup
//	pods        makes the pods of a run, and replaces lost ones
//	accounting  measures the resources that pods use, and other load on their nodes
//
// Every object is recorded in the cluster before it is made, and has the owner's label. Close removes exactly these
// objects. If Tare was killed, inventory.Clean removes the objects. Every wait has a limit. The error after the limit
// names the
// awaited state, the events and the pods' last log lines.
package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/placement"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// Testbed makes sites on one or more clusters.
type Testbed struct {
	options Options
	session inventory.Session

	connecting sync.Mutex // held while a connection is made, which may take long; always locked before fields

	fields   sync.Mutex // guards the fields from this line down to host
	closed   bool
	clusters map[string]*clusterRun
	host     testbed.Testbed // testbed on Tare's own machine; nil until a program needs it

	mu      sync.Mutex
	number  int                 // number of sites so far that got a new unique name
	sites   []*Site             // open sites
	retired []*Site             // closed sites, whose namespaces still exist for further sites
	missing *accounting.Missing // counters that are unknown in some arm; nil until Inspect is called
	used    []*clusterRun       // clusters with inspected sites
}

var _ interface {
	testbed.Staged
	testbed.Network
	testbed.Members
	testbed.Clients
	testbed.Sidecars
	testbed.Volume
	testbed.MemberVolumes
	testbed.Mender
	testbed.Closer
} = (*Site)(nil)

// New makes a testbed, which the caller must close. It makes no connection to a cluster.
func New(o Options) (*Testbed, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	session, err := inventory.NewSession(o.Run)
	if err != nil {
		return nil, fmt.Errorf("the run's id for its records on clusters: %w", err)
	}
	return &Testbed{options: o, session: session, clusters: map[string]*clusterRun{}}, nil
}

// Open returns a new site without objects. The first object is made by Ready, or by a layer that applies an object.
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
	if _, err := t.connected(level.Context); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &Site{bed: t, arm: want.Name, needs: want.Needs, level: level, context: level.Context, pods: map[testbed.Place]*pods.Pod{}}
	if !t.reuse(s) {
		t.number++
		s.unique = siteName(t.session.Owner, t.number, want.Name)
	}
	t.sites = append(t.sites, s)
	return s, nil
}

func (t *Testbed) opened() []*Site {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.sites)
}

// Close removes all objects of the run from the run's clusters, even if the run's context has ended.
func (t *Testbed) Close() error {
	t.fields.Lock()
	clusters, host := t.clusters, t.host
	t.closed, t.clusters, t.host = true, nil, nil
	t.fields.Unlock()
	for _, s := range t.opened() {
		for _, p := range s.podList() {
			p.Disconnect() // the pod is about to be deleted
		}
	}
	var errs []error
	for _, on := range clusters {
		on.counter.Close()
		errs = append(errs, on.record.End())
	}
	if host != nil {
		errs = append(errs, host.Close())
	}
	return errors.Join(errs...)
}

// Close removes the site's pods, service and volumes, and waits until they are gone. The namespace stays for the next
// site: removing it takes long.
func (s *Site) Close() error {
	s.mu.Lock()
	on, made := s.on, s.pods
	s.pods = map[testbed.Place]*pods.Pod{}
	s.mu.Unlock()
	if !s.bed.retire(s) || on == nil {
		return nil
	}
	var items []inventory.Item
	for _, p := range made {
		p.Disconnect() // ends connections, since the pod is about to be deleted
		items = append(items, p.Item())
	}
	if s.needs.Pods() && s.hasServer() {
		items = append(items, inventory.Core("services", s.Namespace(), s.name("server")))
	}
	for _, v := range s.volumes() { // claims are removed after the pods that mount them
		items = append(items, inventory.Core("persistentvolumeclaims", s.Namespace(), v.name))
	}
	limits := s.level.Timeouts
	ctx, cancel := context.WithTimeout(context.Background(), limits.Delete.Std()+limits.Request.Std())
	defer cancel()
	return on.record.Remove(ctx, items...)
}

func (t *Testbed) retire(s *Site) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.sites, s)
	if i < 0 {
		return false
	}
	t.sites = slices.Delete(t.sites, i, i+1)
	t.retired = append(t.retired, s)
	return true
}

// reuse gives a new site the namespace of a retired site with the same arm, parameters and needs, if there is one.
func (t *Testbed) reuse(s *Site) bool {
	i := slices.IndexFunc(t.retired, func(old *Site) bool {
		return old.arm == s.arm && old.level == s.level && reflect.DeepEqual(old.needs, s.needs)
	})
	if i < 0 {
		return false
	}
	// The new site's layers need the original namespace, without the changes by the old site's layers.
	s.unique, s.bare, s.namespace = t.retired[i].unique, t.retired[i].bare, t.retired[i].bare.DeepCopy()
	t.retired = slices.Delete(t.retired, i, i+1)
	return true
}

// Options configure a testbed.
type Options struct {
	Kubeconfig string // path of the kubeconfig; "" means kubectl's defaults
	Version    string
	Run        string
	Resumed    bool // set if an earlier session began the run; Tare removes its leftovers
	// Host makes the testbed for programs on this machine. It is called when a program first needs this testbed. The
	// cluster's testbed closes it.
	Host func() (testbed.Testbed, error)
	Say  func(string) // takes a line of progress ("waiting for pod …: pulling the image"); nil drops it
}

var errClosed = errors.New("testbed on Kubernetes: already closed")

func (t *Testbed) onCluster(ctx context.Context, name string, limits experiment.Timeouts) (*clusterRun, error) {
	t.connecting.Lock()
	defer t.connecting.Unlock()
	if on, err := t.connected(name); on != nil || err != nil {
		return on, err
	}
	c, err := cluster.Connect(ctx, cluster.Options{
		Kubeconfig: t.options.Kubeconfig, Version: t.options.Version, Say: t.options.Say,
	}, name, limits)
	if err != nil {
		return nil, err
	}
	t.fields.Lock()
	defer t.fields.Unlock()
	if t.closed {
		return nil, errClosed
	}
	on := newClusterRun(c, t.session, t.options.Version, limits)
	t.clusters[name] = on
	return on, nil
}

func (t *Testbed) connected(name string) (*clusterRun, error) {
	t.fields.Lock()
	defer t.fields.Unlock()
	if t.closed {
		return nil, errClosed
	}
	return t.clusters[name], nil
}

func (t *Testbed) onHost(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	t.fields.Lock()
	defer t.fields.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if t.host == nil {
		host, err := t.options.Host()
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

type clusterRun struct {
	*cluster.Cluster
	owner   inventory.Owner
	record  *inventory.Record
	nodes   *placement.Chooser
	pods    *pods.Maker
	counter *accounting.Counter

	inspected sitesOf // used by Inspect and Describe, one at a time

	mu              sync.Mutex
	nodesNamespaces map[string]string // namespaces that makeNodesNamespace has made, by level of Pod Security
}

func newClusterRun(c *cluster.Cluster, s inventory.Session, version string, limits experiment.Timeouts) *clusterRun {
	record := inventory.NewRecord(c, s, limits)
	return &clusterRun{
		Cluster: c, owner: s.Owner, record: record,
		nodes:   placement.NewChooser(c),
		pods:    &pods.Maker{On: c, Record: record, Owner: s.Owner, Limits: limits, Version: version},
		counter: accounting.NewCounter(c, limits.Ready.Std()), nodesNamespaces: map[string]string{},
	}
}

func shorten(text string) string { return safetext.Head(text, 300) }
