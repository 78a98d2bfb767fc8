package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// siteLabel is the label with the site's name. It distinguishes the pods of two sites of the same arm.
const siteLabel = "tare/site"

const (
	roleClient     = "client"
	roleServer     = "server"
	roleClientNode = "client-node"
	roleServerNode = "server-node"
)

// Site is one set-up of an arm on a cluster: a namespace with pods.
type Site struct {
	bed     *Testbed
	arm     string
	needs   experiment.Needs
	level   *experiment.Kubernetes // parameters of the testbed
	unique  string                 // unique name: the site's namespace or, in a shared namespace, the beginning of its objects' names
	context string                 // context of the kubeconfig

	mu        sync.Mutex
	on        *clusterRun // nil before the site has connected
	shapes    shapes
	namespace *corev1.Namespace // namespace that Tare has made; nil before that, and if the namespace is shared
	bare      *corev1.Namespace // the same namespace before layers changed it
	pods      map[testbed.Place]*pods.Pod
	service   netip.Addr // address of the Kubernetes service
}

// shapes are the changes that layers make to objects. They are applied before the objects are made.
type shapes struct {
	namespace []func(*corev1.Namespace)
	pods      []func(*corev1.Pod) error
	volume    []func(*corev1.PersistentVolumeClaim)
	sidecars  []addedSidecar
}

// Of returns the *Site that site is or wraps, or an error that the layer or workload needs a cluster.
func Of(site testbed.Site) (*Site, error) {
	return testbed.Need[*Site](site, "this works on a cluster only (testbed: kubernetes)")
}

// UseContext puts the site on the cluster of another context, before any other method of the site is called.
func (s *Site) UseContext(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on != nil && s.context != name {
		return fmt.Errorf("the site of arm %s is in use on context %q already: "+
			"the layer that names context %q must come first", s.arm, s.context, name)
	}
	s.context = name
	return nil
}

// Cluster returns the site's cluster. The first call connects.
func (s *Site) Cluster(ctx context.Context) (*cluster.Cluster, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	return on.Cluster, nil
}

func (s *Site) cluster(ctx context.Context) (*clusterRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on == nil {
		on, err := s.bed.onCluster(ctx, s.context, s.level.Timeouts)
		if err != nil {
			return nil, err
		}
		s.on = on
	}
	return s.on, nil
}

// Namespace returns the name of the site's namespace. The namespace need not exist yet.
func (s *Site) Namespace() string { return cmp.Or(s.level.Namespace, s.unique) }

// ReadNamespace reads the site's namespace from the cluster.
func (s *Site) ReadNamespace(ctx context.Context) (*corev1.Namespace, error) {
	c, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	ns, err := c.Client.CoreV1().Namespaces().Get(ctx, s.Namespace(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", s.Namespace(), err)
	}
	return ns, nil
}

// sharesNamespace reports whether the experiment names a namespace, which is not Tare's and which all arms share.
func (s *Site) sharesNamespace() bool { return s.level.Namespace != "" }

// Parameters returns the testbed's parameters; each factor has the site's level.
func (s *Site) Parameters() *experiment.Kubernetes { return s.level }

// Labels returns the labels that every object at the site must have: ManagedBy, OwnerLabel and ArmLabel.
func (s *Site) Labels() map[string]string { return s.bed.session.Owner.Labels(s.arm, "") }

// Owners returns the owner references, set by Apply, by which the cluster removes an object if Tare is lost.
func (s *Site) Owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	return on.record.Owners(s.Namespace()), nil
}

// siteName returns the unique name of a site. The number makes the name unique.
func siteName(owner inventory.Owner, number int, arm string) string {
	return cluster.Label(fmt.Sprintf("tare-%s-%d-%s", owner, number, arm), cluster.NameLimit)
}

// name returns the name of an object of the site: the plain name, or in a shared namespace a unique name.
func (s *Site) name(plain string) string {
	if s.sharesNamespace() {
		return cluster.Label(s.unique, cluster.NameLimit-len(plain)-1) + "-" + plain
	}
	return plain
}

// ShapeNamespace registers f, which changes Tare's own namespace before it is made, or returns an error.
func (s *Site) ShapeNamespace(f func(*corev1.Namespace)) error {
	if s.sharesNamespace() {
		return fmt.Errorf("arm %s changes its namespace, but testbed.kubernetes.namespace is %s, "+
			"which is not Tare's and which all arms share: leave it out", s.arm, s.level.Namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes.namespace = append(s.shapes.namespace, f)
	return nil
}

// ShapePods registers f, which changes every workload pod before it is made. Ready returns f's errors.
func (s *Site) ShapePods(f func(*corev1.Pod) error) { s.shapes.pods = append(s.shapes.pods, f) }

// ShapeVolume registers f, which changes the claim of each volume before the claim is made.
func (s *Site) ShapeVolume(f func(*corev1.PersistentVolumeClaim)) {
	s.shapes.volume = append(s.shapes.volume, f)
}

// Facts requests the facts of the pod at a place from its agent.
func (s *Site) Facts(ctx context.Context, where testbed.Place) (agent.Facts, error) {
	p, err := s.pod(where)
	if err != nil {
		return agent.Facts{}, err
	}
	facts, err := p.Agent().Facts(ctx)
	return facts, p.Disturbed(ctx, err)
}

func (s *Site) pod(where testbed.Place) (*pods.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[where]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("the site of arm %s has no %s: no workload needs one, or it is not ready yet", s.arm, where)
}

func (s *Site) podList() []*pods.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*pods.Pod
	for _, where := range s.places() {
		if p := s.pods[where]; p != nil {
			list = append(list, p)
		}
	}
	return list
}

func (s *Site) nodes() []string {
	names := testbed.Each(s.podList(), (*pods.Pod).Node)
	slices.Sort(names)
	return slices.Compact(names)
}

// Pods reads the site's pods from the API server, by place.
func (s *Site) Pods(ctx context.Context) (map[testbed.Place]*corev1.Pod, error) {
	s.mu.Lock()
	made := maps.Clone(s.pods)
	s.mu.Unlock()
	now := map[testbed.Place]*corev1.Pod{}
	for where, p := range made {
		got, err := p.Get(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		now[where] = got
	}
	return now, nil
}

// Await is cluster.Await with the testbed's timeout ready as its limit.
func (s *Site) Await(ctx context.Context, awaited string, poll func(context.Context) (ok bool, now string, err error)) error {
	on, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	return on.Await(ctx, awaited, s.level.Timeouts.Ready.Std(), poll)
}

// Exec is cluster.Exec with the testbed's timeout ready as its limit.
func (s *Site) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.level.Timeouts.Ready.Std())
	defer cancel()
	return on.Exec(limited, namespace, pod, container, args)
}

func (s *Site) hasServer() bool { return s.needs.Network || s.needs.HostNetwork }
