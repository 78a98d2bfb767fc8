package kube

import (
	"context"
	"errors"
	"sync"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/placement"
	"tare/testbed/kube/pods"
)

// Options are what a testbed needs besides the experiment.
type Options struct {
	Kubeconfig string // path; "" for the usual ones
	Version    string // of Tare
	Run        string // run directory, for the record in the cluster; an id is kept there
	// Resumed says that the run was begun by an earlier session: what that has left on
	// a cluster is removed first.
	Resumed bool
	// Host makes the testbed on this machine, for programs that drive the cluster from
	// here; it is called when the first is started, and closed with this testbed.
	Host func() (testbed.Testbed, error)
	// Say takes a line of progress ("waiting for pod …: pulling the image"); nil drops it.
	Say func(string)
}

// run is one session of a run: the clusters that it is connected to, and the machine
// that Tare itself runs on.
type run struct {
	options Options
	session inventory.Session

	connecting sync.Mutex // held while a cluster is connected, which takes long; taken before mu

	mu     sync.Mutex
	closed bool
	on     map[string]*clusterRun // by context
	host   testbed.Testbed        // made when first needed
}

var errClosed = errors.New("testbed on Kubernetes: already closed")

// onCluster gives what the run has on the cluster of a context, and connects when it
// is first asked for.
func (r *run) onCluster(ctx context.Context, name string, limits experiment.Timeouts) (*clusterRun, error) {
	r.connecting.Lock()
	defer r.connecting.Unlock()
	if on, err := r.connected(name); on != nil || err != nil {
		return on, err
	}
	c, err := cluster.Connect(ctx, cluster.Options{Kubeconfig: r.options.Kubeconfig, Version: r.options.Version, Say: r.options.Say}, name, limits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	on := newClusterRun(c, r.session, r.options.Version, limits)
	r.on[name] = on
	return on, nil
}

// connected gives what the run has on a cluster; nil before it is connected.
func (r *run) connected(name string) (*clusterRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	return r.on[name], nil
}

// onHost starts a program on the machine that Tare itself runs on.
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

// close lets nothing more be connected or started, and gives what there is to be
// removed; nothing the second time.
func (r *run) close() (there []*clusterRun, host testbed.Testbed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil
	}
	r.closed = true
	for _, on := range r.on {
		there = append(there, on)
	}
	return there, r.host
}

// clusterRun is what a run has on one cluster: its record there, the nodes that were
// chosen, and what makes and counts its pods.
type clusterRun struct {
	*cluster.Cluster
	owner   inventory.Owner
	record  *inventory.Record
	nodes   *placement.Chooser
	pods    *pods.Maker
	counter *accounting.Counter

	mu sync.Mutex
	// nodesNamespaces are those of the pods that are about nodes, by the level of Pod
	// Security that they need; they are made when first needed.
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

// close removes what the run has on the cluster.
func (on *clusterRun) close() error {
	on.counter.Close()
	return on.record.End()
}

// short bounds a text that is taken over from the API server into the record.
func short(text string) string { return safetext.Head(text, 300) }
