package kube

import (
	"context"
	"errors"
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

var errClosed = errors.New("testbed on Kubernetes: already closed")

// onCluster returns the run's state on the cluster of a context. The first call connects.
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
	t.using.Lock()
	defer t.using.Unlock()
	if t.closed {
		return nil, errClosed
	}
	on := newClusterRun(c, t.session, t.options.Version, limits)
	t.clusters[name] = on
	return on, nil
}

func (t *Testbed) connected(name string) (*clusterRun, error) {
	t.using.Lock()
	defer t.using.Unlock()
	if t.closed {
		return nil, errClosed
	}
	return t.clusters[name], nil
}

func (t *Testbed) onHost(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	t.using.Lock()
	defer t.using.Unlock()
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

	mu              sync.Mutex
	nodesNamespaces map[string]string // namespaces of makeNodesNamespace, by level of Pod Security
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

// shorten shortens a text of the API server before the run records it.
func shorten(text string) string { return safetext.Head(text, 300) }
