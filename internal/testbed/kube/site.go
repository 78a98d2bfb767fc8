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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// siteLabel is the label with the site's unique name. It distinguishes the pods of two sites of one arm.
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
	unique  string                 // unique name of the site's namespace or, in a shared namespace, prefix of its objects' names
	context string                 // name of the context in the kubeconfig

	mu        sync.Mutex
	on        *clusterRun // nil before the first use of the cluster
	shapes    shapes
	namespace *corev1.Namespace // namespace that Tare has made; nil before it is made, and for a shared namespace
	bare      *corev1.Namespace // namespace without the changes of layers
	pods      map[testbed.Place]*pods.Pod
	service   netip.Addr // address of the Kubernetes service
}

type shapes struct {
	namespace []func(*corev1.Namespace)
	pods      []func(*corev1.Pod) error
	volume    []func(*corev1.PersistentVolumeClaim)
	sidecars  []addedSidecar
}

// Of returns the *Site that site is or wraps. For other sites, the error tells that a cluster is needed.
func Of(site testbed.Site) (*Site, error) {
	return testbed.Need[*Site](site, "this works on a cluster only (testbed: kubernetes)")
}

// UseContext moves the site to the cluster of another context. It must be called before any other method of the site.
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

// Cluster returns the site's cluster. The first call makes the connection.
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

// Namespace returns the name of the site's namespace, which may not exist yet.
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

// sharesNamespace reports whether the experiment names a namespace. All arms then share it, and Tare has not made it.
func (s *Site) sharesNamespace() bool { return s.level.Namespace != "" }

// Parameters returns the testbed's parameters, with one level of each factor.
func (s *Site) Parameters() *experiment.Kubernetes { return s.level }

// Labels returns the labels that every object of the site must have: ManagedBy, OwnerLabel and ArmLabel.
func (s *Site) Labels() map[string]string { return s.bed.session.Owner.Labels(s.arm, "") }

// Owners returns the owner references that objects of the site need, so that the cluster removes these objects if Tare
// is lost. Apply sets owner references itself.
func (s *Site) Owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return nil, err
	}
	return on.record.Owners(s.Namespace()), nil
}

func siteName(owner inventory.Owner, number int, arm string) string {
	return cluster.Label(fmt.Sprintf("tare-%s-%d-%s", owner, number, arm), cluster.NameLimit)
}

// name returns the name of an object of the site. In a shared namespace, a unique prefix is put before the plain name.
func (s *Site) name(plain string) string {
	if s.sharesNamespace() {
		return cluster.Label(s.unique, cluster.NameLimit-len(plain)-1) + "-" + plain
	}
	return plain
}

// ShapeNamespace registers a function that changes the plan of the site's namespace. It returns an error if the site
// shares its namespace.
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

// ShapePods registers a function that changes the plan of every workload pod. Ready returns the function's errors.
func (s *Site) ShapePods(f func(*corev1.Pod) error) { s.shapes.pods = append(s.shapes.pods, f) }

// ShapeVolume registers a function that changes the plan of each volume's claim.
func (s *Site) ShapeVolume(f func(*corev1.PersistentVolumeClaim)) {
	s.shapes.volume = append(s.shapes.volume, f)
}

// Facts asks the agent in the pod at a place for the pod's facts.
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
	names := lists.Map(s.podList(), (*pods.Pod).Node)
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

// Await waits for a state like cluster.Await, for at most the testbed's timeout "ready".
func (s *Site) Await(ctx context.Context, awaited string, poll func(context.Context) (ok bool, now string, err error)) error {
	on, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	return on.Await(ctx, awaited, s.level.Timeouts.Ready.Std(), poll)
}

// Exec runs a program like cluster.Exec, for at most the testbed's timeout "ready".
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

const (
	restricted = "restricted"
	baseline   = "baseline"
	privileged = "privileged"
)

func (on *clusterRun) makeNamespace(ctx context.Context, ns *corev1.Namespace, image string) (*corev1.Namespace, error) {
	on.record.SetHolder(ns)
	if err := on.record.Add(ctx, inventory.Namespace(ns.Name)); err != nil {
		return nil, err
	}
	made, err := inventory.Make(ctx, on.record, on.Client.CoreV1().Namespaces(), ns)
	if err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", ns.Name, cluster.Explain(err))
	}
	if err := on.record.Begin(ctx, ns.Name); err != nil {
		return nil, err
	}
	return made, on.record.AddDeadline(ctx, ns.Name, image)
}

// useNamespace starts to use a namespace that the experiment names. Tare has not made this namespace.
func (on *clusterRun) useNamespace(ctx context.Context, namespace, image string) error {
	if !on.record.Begun() {
		_, err := on.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("namespace %s, which testbed.kubernetes.namespace names, does not exist in context %s",
				namespace, on.Context)
		case err != nil && !apierrors.IsForbidden(err):
			return fmt.Errorf("namespace %s: %w", namespace, err)
		}
		if err := on.record.Begin(ctx, namespace); err != nil {
			return err
		}
	}
	return on.record.AddDeadline(ctx, namespace, image)
}

// makeNodesNamespace returns the namespace for pods that serve a node: the experiment's (given), or Tare's own for this
// level of Pod Security.
func (on *clusterRun) makeNodesNamespace(ctx context.Context, given, level, image string) (string, error) {
	if given != "" {
		return given, on.useNamespace(ctx, given, image)
	}
	on.mu.Lock()
	defer on.mu.Unlock()
	if made := on.nodesNamespaces[level]; made != "" {
		return made, nil
	}
	name := "nodes"
	if level != privileged {
		name = "counting"
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   cluster.Label("tare-"+string(on.owner)+"-"+name, cluster.NameLimit),
		Labels: on.owner.Labels("", ""),
	}}
	ns.Labels[cluster.EnforceLabel] = level
	if _, err := on.makeNamespace(ctx, ns, image); err != nil {
		return "", err
	}

	on.nodesNamespaces[level] = ns.Name
	return ns.Name, nil
}

func (s *Site) planNamespace() *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.unique, Labels: s.Labels(), Annotations: map[string]string{inventory.ArmLabel: s.arm},
	}}
	ns.Labels[cluster.EnforceLabel] = s.podSecurity()
	return ns
}

// ensureNamespace makes the site's namespace, or updates it if layers have registered new changes.
func (s *Site) ensureNamespace(ctx context.Context) (*clusterRun, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if s.bed.options.Resumed {
		on.record.RemoveEarlier(ctx, s.level.Namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sharesNamespace() {
		return on, on.useNamespace(ctx, s.level.Namespace, s.level.Image)
	}
	if s.namespace != nil && len(s.shapes.namespace) == 0 {
		return on, nil
	}
	ns := s.namespace.DeepCopy()
	if ns == nil {
		ns = s.planNamespace()
	}
	bare := ns.DeepCopy()
	for _, shape := range s.shapes.namespace {
		shape(ns)
	}
	s.shapes.namespace = nil
	maps.Copy(ns.Labels, s.Labels()) // last, so that no layer can change these labels
	ns.Name = s.unique
	if s.namespace != nil {
		ns.ResourceVersion = ""
		if s.namespace, err = on.Client.CoreV1().Namespaces().Update(ctx, ns, metav1.UpdateOptions{}); err != nil {
			return nil, fmt.Errorf("change namespace %s: %w", ns.Name, cluster.Explain(err))
		}
		return on, nil
	}
	s.bed.options.Say("making namespace " + ns.Name)
	if s.namespace, err = on.makeNamespace(ctx, ns, s.level.Image); err != nil {
		return on, err
	}
	s.bare = s.namespace.DeepCopy()
	s.bare.Labels, s.bare.Annotations = bare.Labels, bare.Annotations
	return on, nil
}

func (s *Site) podSecurity() string {
	level := restricted
	for _, why := range s.needs.PodSecurity {
		if why.Level == privileged || why.Level == baseline && level == restricted {
			level = why.Level
		}
		s.bed.options.Say(fmt.Sprintf("pods need Pod Security %s: %s", why.Level, why.Why))
	}
	return level
}
