// Package kubecontext is the layer that puts an arm on another cluster, named by a context of the kubeconfig: a cluster
// of confidential virtual machines, for example, or one with another network plug-in. The arm's trials still alternate
// with those of the other arms.
//
//   - context: {name: constellation}
//
// Two clusters differ in more than one property. The measured overhead is the difference between the clusters, whatever
// property causes it; a caveat in the report says this.
//
// Proof: a cluster is identified by the UID of its namespace kube-system. In an arm with the layer, the site's API
// server must report the UID that the context's API server reported when the site was created. In an arm without the
// layer, it must report another UID.
package kubecontext

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const name = "context"

type config struct {
	Name string `yaml:"name" required:"true" doc:"context of the kubeconfig"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "another cluster, by its context in the kubeconfig",
	Example: "name: other-cluster",
	New:     func() layer.Layer { return &config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes; the cluster is contacted when the arm is set up"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere: "there is only one machine: run the file on each machine, and compare the runs by tare compare",
		Context:   c.Name,
		Rights: func(string) []experiment.Right {
			return []experiment.Right{{Resource: "namespaces", Verbs: []string{"get"}, Why: "to identify the cluster by the UID of kube-system"}}
		},
		Shapes:    true,
		OwnProves: true,
	}
}

// Up puts the site on the context's cluster. It keeps the cluster's UID: proofs show by it that other arms' sites are
// on other clusters.
func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	if site.Parameters().Context == c.Name {
		return nil, fmt.Errorf("%s is the context of the testbed, so every arm would be on that cluster", c.Name)
	}
	if err := site.UseContext(c.Name); err != nil {
		return nil, err
	}
	cluster, err := site.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	*layer.Kept[string](s.Run, c) = cluster.UID
	before := func(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
		context, uid, err := identity(ctx, site)
		if err != nil {
			return nil, err
		}
		return []layer.Check{c.here(context, uid, cluster.UID)}, nil
	}
	return &layer.Active{Before: before}, nil
}

func identity(ctx context.Context, s *kube.Site) (context, uid string, err error) {
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return "", "", err
	}
	ns, err := cluster.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", "", fmt.Errorf("read namespace %s on the cluster of context %s: %w", metav1.NamespaceSystem, cluster.Context, err)
	}
	return cluster.Context, string(ns.UID), nil
}

// confounded is the caveat of every comparison of clusters.
const confounded = "two clusters differ in more than one property (machines, kernel, network plug-in, versions), and the overhead includes all of them. It also includes the effect of state that trials leave on a cluster, such as objects in the API server's memory, since the baseline's cluster serves more trials (also those of the control)"

// here checks that a site is on the cluster of the layer's context, whose UID is layerUID.
func (c *config) here(context, uid, layerUID string) layer.Check {
	return layer.Check{
		Layer: name, Name: "cluster", Expected: described(c.Name, layerUID), Observed: described(context, uid),
		OK: context == c.Name && uid == layerUID && uid != "", Caveat: confounded,
	}
}

// elsewhere checks that a site's context is not the layer's. If both contexts name one cluster (by its UID), the check
// passes with a caveat.
func (c *config) elsewhere(context, uid, layerUID string) layer.Check {
	k := layer.Check{
		Layer: name, Name: "cluster", Expected: "not " + described(c.Name, layerUID), Observed: described(context, uid),
		OK: context != c.Name && uid != "" && layerUID != "",
	}
	if k.OK && uid == layerUID {
		k.Caveat = fmt.Sprintf("the contexts %s and %s name the same cluster: they differ in its address or in the user, and its nodes are the same", context, c.Name)
	}
	return k
}

func described(context, uid string) string {
	return fmt.Sprintf("context %s, cluster %s", context, cmp.Or(uid, "unknown"))
}

func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	context, uid, err := identity(ctx, site)
	if err != nil {
		return nil, err
	}
	return []layer.Check{c.elsewhere(context, uid, *layer.Kept[string](s.Run, c))}, nil
}
