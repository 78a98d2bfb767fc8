package kubecontext

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/layer"
	"tare/testbed"
	"tare/testbed/kube"
)

// finding is what was found behind a context when it was put up, for the proofs
// in other arms. Those have no connection to this cluster.
type finding struct {
	mu  sync.Mutex
	uid string
}

func (f *finding) set(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uid = uid
}

func (f *finding) get() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uid
}

// Up puts the site on the cluster of the context.
func (c *Config) Up(ctx context.Context, site testbed.Site) (layer.Active, error) {
	s, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	if s.Parameters().Context == c.Name {
		return nil, fmt.Errorf("%s is the context of the testbed, so every arm is on that cluster", c.Name)
	}
	if err := s.UseContext(c.Name); err != nil {
		return nil, err
	}
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	c.found.set(cluster.UID)
	return &active{config: c, site: s, uid: cluster.UID}, nil
}

// Shapes says that Up changes nothing on a cluster.
func (c *Config) Shapes() {}

// OtherContext is the context that the arm is in.
func (c *Config) OtherContext() string { return c.Name }

// Rights are those for asking a cluster who it is.
func (c *Config) Rights(string) []kube.Right {
	return []kube.Right{{Resource: "namespaces", Verbs: []string{"get"}, Why: "clusters are told from each other by the UID of kube-system"}}
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
const confounded = "two clusters differ in more than one thing (machines, kernel, network plug-in, versions): the overhead is of all of them together"

// here shows that a site is on the cluster of the context.
func (c *Config) here(context, uid, want string) layer.Check {
	return layer.Check{
		Layer: name, Name: "cluster", Expected: described(c.Name, want), Observed: described(context, uid),
		OK: context == c.Name && uid == want && uid != "", Caveat: confounded,
	}
}

// elsewhere shows that a site is on another cluster than that of the context.
// Another way to the same cluster is another arm, but no other cluster.
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

// ProveOff shows that the site is on another cluster.
func (c *Config) ProveOff(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	s, err := kube.Of(site)
	if err != nil {
		return nil, err
	}
	context, uid, err := identity(ctx, s)
	if err != nil {
		return nil, err
	}
	return []layer.Check{c.elsewhere(context, uid, c.found.get())}, nil
}

// DisproveBeside has nothing to add: the proof of the arm's own layer shows the cluster, and a site is on one.
func (*Config) DisproveBeside(context.Context, testbed.Site, layer.Layer) ([]layer.Check, error) {
	return nil, nil
}

// active is the layer at one site.
type active struct {
	config *Config
	site   *kube.Site
	uid    string // of the cluster, when the layer was put up
}

func (a *active) Proofs() []layer.Check { return nil }

// Before shows that the site is on that cluster still.
func (a *active) Before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	context, uid, err := identity(ctx, a.site)
	if err != nil {
		return nil, err
	}
	return []layer.Check{a.config.here(context, uid, a.uid)}, nil
}

func (a *active) After(context.Context, layer.Did) ([]layer.Check, error) { return nil, nil }

func (a *active) CPU() (time.Duration, bool, error) { return 0, false, nil }

// Down does nothing: the site goes with its testbed.
func (a *active) Down(context.Context) error { return nil }
