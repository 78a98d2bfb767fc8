package kube

import (
	"sync"

	"tare/experiment"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/placement"
	"tare/testbed/kube/pods"
)

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
	return on.record.RemoveAll()
}
