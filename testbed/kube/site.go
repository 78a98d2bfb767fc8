package kube

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/pods"
)

// siteLabel tells the pods of one site from those of another one of the same arm.
const siteLabel = "tare/site"

// The roles of pods, in their labels and names.
const (
	roleClient     = "client"
	roleServer     = "server"
	roleClientNode = "client-node"
	roleServerNode = "server-node"
)

// Site is the surroundings of one arm: a namespace with pods.
type Site struct {
	run     *run
	bed     *Testbed
	arm     string
	needs   experiment.Needs
	level   *experiment.Kubernetes
	unique  string // begins the names of what is made in a namespace that is given
	context string

	mu        sync.Mutex
	on        *clusterRun
	shapes    shapes
	namespace *corev1.Namespace // as made; nil: not yet, or given
	bare      *corev1.Namespace // the same without what layers changed
	pods      map[testbed.Place]*pods.Pod
	service   netip.Addr
}

// shapes are what layers change before things are made.
type shapes struct {
	namespace []func(*corev1.Namespace)
	pods      []func(*corev1.Pod) error
	volume    []func(*corev1.PersistentVolumeClaim)
	sidecars  []addedSidecar
}

// Of gives the site of this testbed below a site, or an error that says that the
// layer or workload needs a cluster.
func Of(site testbed.Site) (*Site, error) {
	return testbed.Need[*Site](site, "this works on a cluster only (testbed: kubernetes)")
}

// UseContext puts the site on another cluster than its testbed's. It must come
// before everything else that a layer asks of the site.
func (s *Site) UseContext(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on != nil && s.context != name {
		return fmt.Errorf("the site of arm %s is in use on context %q already: the layer that names context %q must come first", s.arm, s.context, name)
	}
	s.context = name
	return nil
}

// Cluster is where the site is; it connects when first asked.
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
		on, err := s.run.onCluster(ctx, s.context, s.level.Timeouts)
		if err != nil {
			return nil, err
		}
		s.on = on
	}
	return s.on, nil
}

// Namespace is the name of the site's namespace, known from the beginning.
func (s *Site) Namespace() string {
	if s.level.Namespace != "" {
		return s.level.Namespace
	}
	return s.unique
}

// ReadNamespace gives the site's namespace as the cluster has it now.
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

// given says that the namespace is not Tare's.
func (s *Site) given() bool { return s.level.Namespace != "" }

// Parameters are the testbed's at the site's level.
func (s *Site) Parameters() *experiment.Kubernetes { return s.level }

// Labels are what everything that is made at the site carries: ManagedBy, OwnerLabel
// and ArmLabel of package inventory. A workload that makes objects of its own gives
// them these, and a RoleLabel.
func (s *Site) Labels() map[string]string {
	return s.run.session.Owner.Labels(s.arm, "")
}

// Owners are those that an object in the site's namespace must name, so that the cluster
// removes it should the run be lost. Apply, and all that the site makes, does so.
func (s *Site) Owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	return on.record.Owners(s.Namespace()), nil
}

// siteName is the name of a site's namespace. The number makes it unique, and it is
// valid whatever the arm is called.
func siteName(owner inventory.Owner, number int, arm string) string {
	return cluster.Label(fmt.Sprintf("tare-%s-%d-%s", owner, number, arm), cluster.NameLimit)
}

// name is the name of an object of the site: plain in a namespace of its own,
// unique in one that arms share.
func (s *Site) name(plain string) string {
	if s.given() {
		return cluster.Label(s.unique, cluster.NameLimit-len(plain)-1) + "-" + plain
	}
	return plain
}

// ShapeNamespace has f change the namespace before it is made. It is an error
// when the namespace is given, and not Tare's.
func (s *Site) ShapeNamespace(f func(*corev1.Namespace)) error {
	if s.given() {
		return fmt.Errorf("arm %s changes its namespace, but testbed.kubernetes.namespace gives %s, which is not Tare's and which all arms share: leave that out", s.arm, s.level.Namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes.namespace = append(s.shapes.namespace, f)
	return nil
}

// ShapePods has f change every workload pod of the site before it is made. An
// error of f ends Ready.
func (s *Site) ShapePods(f func(*corev1.Pod) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes.pods = append(s.shapes.pods, f)
}

// ShapeVolume has f change the claim of each of the site's volumes before it is made.
func (s *Site) ShapeVolume(f func(*corev1.PersistentVolumeClaim)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes.volume = append(s.shapes.volume, f)
}

// Facts asks the agent in the pod at a place what it sees of itself.
func (s *Site) Facts(ctx context.Context, where testbed.Place) (agent.Facts, error) {
	p, err := s.pod(where)
	if err != nil {
		return agent.Facts{}, err
	}
	facts, err := p.Agent().Facts(ctx)
	return facts, p.Disturbed(ctx, err)
}

// pod is the pod at a place.
func (s *Site) pod(where testbed.Place) (*pods.Pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[where]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("the site of arm %s has no %s: nothing asked for one, or it is not ready yet", s.arm, where)
}

// all lists the site's pods.
func (s *Site) all() []*pods.Pod {
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

// nodes lists the names of the nodes that the site's pods are on.
func (s *Site) nodes() []string {
	var names []string
	for _, p := range s.all() {
		names = append(names, p.Node())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Pods gives the site's workload pods as the API server has them now, by place.
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

// Await waits until done says true, asking it at growing intervals up to the
// limit of the testbed's timeout ready. What is said in its progress and in the
// error when the limit is reached: "condition Ready of VarmorPolicy demo: status
// Pending".
func (s *Site) Await(ctx context.Context, what string, done func(context.Context) (ok bool, now string, err error)) error {
	on, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	return on.Await(ctx, what, s.level.Timeouts.Ready.Std(), done)
}

// Exec runs a program in any container of any pod, for a proof, and gives its
// output of up to 1 MiB. A program that fails is a *testbed.ExitError.
func (s *Site) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.level.Timeouts.Ready.Std())
	defer cancel()
	return on.Exec(limited, namespace, pod, container, args)
}

// paired says whether there is a server beside the client.
func (s *Site) paired() bool { return s.needs.Network || s.needs.HostNetwork }
