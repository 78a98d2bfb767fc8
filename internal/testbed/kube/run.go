package kube

import (
	"context"
	"errors"
	"maps"
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

// Options configure a testbed.
type Options struct {
	Kubeconfig string // path of the kubeconfig; "" means kubectl's defaults
	Version    string // version of Tare
	Run        string // run directory, which holds the run's id
	// Resumed is set if an earlier session began the run, whose leftovers are removed when Tare uses a cluster.
	Resumed bool
	// Host makes the testbed for programs on this machine before the first of them starts. It is closed with
	// this testbed.
	Host func() (testbed.Testbed, error)
	// Say takes a line of progress ("waiting for pod …: pulling the image"); nil drops it.
	Say func(string)
}

// run is the state of one session of a run: its clusters, and the testbed on Tare's own machine.
type run struct {
	options Options
	session inventory.Session

	connecting sync.Mutex // held while a connection is made, which may take long; locked before mu

	mu       sync.Mutex
	closed   bool
	clusters map[string]*clusterRun // by context
	host     testbed.Testbed        // testbed on Tare's own machine; nil before it is needed
}

var errClosed = errors.New("testbed on Kubernetes: already closed")

// onCluster returns the run's state on the cluster of a context. The first call connects.
func (r *run) onCluster(ctx context.Context, name string, limits experiment.Timeouts) (*clusterRun, error) {
	r.connecting.Lock()
	defer r.connecting.Unlock()
	if on, err := r.connected(name); on != nil || err != nil {
		return on, err
	}
	c, err := cluster.Connect(ctx, cluster.Options{
		Kubeconfig: r.options.Kubeconfig, Version: r.options.Version, Say: r.options.Say,
	}, name, limits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	on := newClusterRun(c, r.session, r.options.Version, limits)
	r.clusters[name] = on
	return on, nil
}

// connected returns the run's state on a cluster; nil if the run is not connected to the cluster yet.
func (r *run) connected(name string) (*clusterRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	return r.clusters[name], nil
}

// onHost starts a program on the machine on which Tare itself runs.
func (r *run) onHost(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.host == nil {
		host, err := r.options.Host()
		if err != nil {
			return nil, err
		}
		r.host = host
	}
	site, err := r.host.Open(ctx, testbed.Request{Name: "host"})
	if err != nil {
		return nil, err
	}
	return site.Start(ctx, testbed.Host, cmd)
}

// close makes the run refuse further connections and programs. Its first call returns what the caller must
// close.
func (r *run) close() (clusters []*clusterRun, host testbed.Testbed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil
	}
	r.closed = true
	return slices.Collect(maps.Values(r.clusters)), r.host
}

// clusterRun is the state of a run on one cluster.
type clusterRun struct {
	*cluster.Cluster
	owner   inventory.Owner
	record  *inventory.Record
	nodes   *placement.Chooser
	pods    *pods.Maker
	counter *accounting.Counter

	mu sync.Mutex
	// nodesNamespaces holds the namespaces of makeNodesNamespace, by level of Pod Security.
	nodesNamespaces map[string]string
}

func newClusterRun(c *cluster.Cluster, s inventory.Session, version string, limits experiment.Timeouts) *clusterRun {
	record := inventory.NewRecord(c, s, limits)
	return &clusterRun{
		Cluster: c, owner: s.Owner, record: record,
		nodes:   placement.NewChooser(c),
		pods:    &pods.Maker{On: c, Record: record, Owner: s.Owner, Limits: limits, Version: version},
		counter: accounting.NewCounter(c, limits.Ready.Std()),
	}
}

// close removes the run's objects from the cluster.
func (on *clusterRun) close() error {
	on.counter.Close()
	return on.record.End()
}

// shorten shortens a text of the API server before the run records it.
func shorten(text string) string { return safetext.Head(text, 300) }
