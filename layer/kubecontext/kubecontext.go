// Package kubecontext is the layer that puts an arm on another cluster, named by a
// context of the kubeconfig: one made of confidential virtual machines, one with
// another network plug-in. Its trials still alternate with those of the other arms.
//
//   - context: {name: constellation}
//
// Two clusters differ in more than one thing. What is measured is the difference
// between the clusters; which of their differences causes it, the layer cannot say,
// and the report carries that as a caveat.
//
// Proof: clusters are known by the UID of their namespace kube-system. The site's
// API server must name the UID that the context's named when the site was made; in
// an arm without the layer it must name another.
package kubecontext

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/kube"
)

const name = "context"

// Config is the parameters of the layer.
type Config struct {
	Name string `yaml:"name" required:"true" doc:"context of the kubeconfig"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "another cluster, by its context in the kubeconfig",
	Example: "name: other-cluster",
	New:     func() layer.Layer { return &Config{} },
	Probe:   testbed.AlwaysWorks(name, "on the testbed kubernetes; whether the cluster answers is seen when the arm is made"),
}

// Declare says that the arm is on the cluster of the context, which must say who it is.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{
		Needs:     experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere: "there is one machine only: run the file on each, and compare the runs by tare compare",
		Context:   c.Name,
		Rights: func(string) []experiment.Right {
			return []experiment.Right{{Resource: "namespaces", Verbs: []string{"get"}, Why: "clusters are told from each other by the UID of kube-system"}}
		},
		Shapes:    true,
		OwnProves: true,
	}
}

// Up puts the site on the cluster of the context. It keeps the identity of that cluster
// for the proofs in other arms, which have no connection to it.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	if site.Parameters().Context == c.Name {
		return nil, fmt.Errorf("%s is the context of the testbed, so every arm is on that cluster", c.Name)
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

// identity asks a site's API server who it is.
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

// confounded is what readers must know of every comparison of clusters.
const confounded = "two clusters differ in more than one thing (machines, kernel, network plug-in, versions): the overhead is of all of them together, and of what trials leave on a cluster, such as objects in its API server's memory, where the clusters serve different numbers of them (the control is on the baseline's)"

// here shows that a site is on the cluster of the context.
func (c *Config) here(context, uid, want string) layer.Check {
	return layer.Check{
		Layer: name, Name: "cluster", Expected: described(c.Name, want), Observed: described(context, uid),
		OK: context == c.Name && uid == want && uid != "", Caveat: confounded,
	}
}

// elsewhere shows that a site is on another cluster than that of the context.
// Two contexts may be of one cluster; a caveat says so.
func (c *Config) elsewhere(context, uid, not string) layer.Check {
	k := layer.Check{
		Layer: name, Name: "cluster", Expected: "not " + described(c.Name, not), Observed: described(context, uid),
		OK: context != c.Name && uid != "" && not != "",
	}
	if k.OK && uid == not {
		k.Caveat = fmt.Sprintf("the contexts %s and %s are of one cluster: they differ in the way to it or in the user, and its nodes are the same", context, c.Name)
	}
	return k
}

func described(context, uid string) string {
	if uid == "" {
		uid = "unknown"
	}
	return fmt.Sprintf("context %s, cluster %s", context, uid)
}

// ProveOff shows that the site is on another cluster. Where the arm has a context of
// its own there is nothing to add: its proof shows the cluster, and a site is on one.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
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
