package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/agent"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
)

// Site is the surroundings of one arm: a namespace with pods.
type Site struct {
	bed     *Testbed
	arm     string
	needs   experiment.Needs
	level   *experiment.Kubernetes
	unique  string // begins the names of what is made in a namespace that is given
	context string

	mu        sync.Mutex
	on        *presence
	shapes    shapes
	namespace *corev1.Namespace // as made; nil: not yet, or given
	pods      map[testbed.Place]*pod
	service   netip.Addr
}

// shapes are what layers change before things are made.
type shapes struct {
	namespace []func(*corev1.Namespace)
	pods      []func(*corev1.Pod) error
	volume    []func(*corev1.PersistentVolumeClaim)
}

// Of gives the site of this testbed below a site, or an error that says that the
// layer or workload needs a cluster.
func Of(site testbed.Site) (*Site, error) {
	if s, ok := testbed.As[*Site](site); ok {
		return s, nil
	}
	return nil, fmt.Errorf("this works on a cluster only (testbed: kubernetes)")
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
	on, err := s.presence(ctx)
	if err != nil {
		return nil, err
	}
	return on.Cluster, nil
}

func (s *Site) presence(ctx context.Context) (*presence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on == nil {
		on, err := s.bed.presence(ctx, s.context, s.level.Timeouts)
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

// given says that the namespace is not Tare's.
func (s *Site) given() bool { return s.level.Namespace != "" }

// Parameters are the testbed's at the site's level.
func (s *Site) Parameters() *experiment.Kubernetes { return s.level }

// Labels are what everything that is made at the site carries: inventory.ManagedBy,
// inventory.OwnerLabel and inventory.ArmLabel. A workload that makes objects of its own gives them
// these, and a inventory.RoleLabel.
func (s *Site) Labels() map[string]string {
	return s.bed.session.Owner.Labels(s.arm, "")
}

// siteName is the name of a site's namespace: unique by the number, valid
// whatever the arm is called, and telling.
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

// ShapeVolume has f change the claim of the site's volume before it is made.
func (s *Site) ShapeVolume(f func(*corev1.PersistentVolumeClaim)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shapes.volume = append(s.shapes.volume, f)
}

// Start starts a program: on Host on the machine that Tare runs on, elsewhere in
// the pod of that place. A pod that cannot be reached is a *testbed.Disturbance.
func (s *Site) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where == testbed.Host {
		return s.bed.onHost(ctx, cmd)
	}
	p, err := s.pod(where)
	if err != nil {
		return nil, err
	}
	bill, err := s.bill(ctx, p, cmd)
	if err != nil {
		return nil, err
	}
	process, err := p.session.Start(ctx, cmd)
	if err != nil {
		bill.drop()
		return nil, p.disturbed(ctx, err)
	}
	started := &program{Process: process, in: p, done: make(chan struct{})}
	go started.follow(bill)
	return started, nil
}

// Self is the path of Tare in the pod at a place; "" on the machine that Tare runs on.
func (s *Site) Self(where testbed.Place) string {
	if where == testbed.Host {
		return ""
	}
	p, err := s.pod(where)
	if err != nil {
		return imageProgram // the pods are not made yet
	}
	return tareIn(p.plan)
}

// program is a process in a pod, whose loss is explained.
type program struct {
	testbed.Process
	in *pod

	done  chan struct{} // closed when the rest is set
	usage testbed.Usage
	err   error
}

// follow settles the bill as soon as the program has ended, whenever that is asked
// for.
func (p *program) follow(b bill) {
	defer close(p.done)
	p.usage, p.err = p.Process.Wait()
	var exit *testbed.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		b.drop()
		p.err = p.in.disturbed(context.Background(), p.err)
		return
	}
	usage, err := b.settle(p.usage)
	p.usage, p.err = usage, errors.Join(p.err, err)
}

// Wait waits for the end of the program.
func (p *program) Wait() (testbed.Usage, error) {
	<-p.done
	return p.usage, p.err
}

// CPU is the CPU time used so far.
func (p *program) CPU() (used time.Duration, err error) {
	used, err = p.Process.CPU()
	return used, p.in.disturbed(context.Background(), err)
}

// Facts asks the agent in the pod at a place what it sees of itself.
func (s *Site) Facts(ctx context.Context, where testbed.Place) (agent.Facts, error) {
	p, err := s.pod(where)
	if err != nil {
		return agent.Facts{}, err
	}
	facts, err := p.session.Facts(ctx)
	return facts, p.disturbed(ctx, err)
}

// pod is the pod at a place.
func (s *Site) pod(where testbed.Place) (*pod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pods[where]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("the site of arm %s has no %s: nothing asked for one, or it is not ready yet", s.arm, where)
}

// all lists the site's pods.
func (s *Site) all() []*pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pods []*pod
	for _, where := range testbed.Host.Values() {
		if p := s.pods[testbed.Place(where)]; p != nil {
			pods = append(pods, p)
		}
	}
	return pods
}

// nodes lists the names of the nodes that the site's pods are on.
func (s *Site) nodes() []string {
	var names []string
	for _, p := range s.all() {
		names = append(names, p.node())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Pods gives the site's workload pods as the API server has them now, by place.
func (s *Site) Pods(ctx context.Context) (map[testbed.Place]*corev1.Pod, error) {
	s.mu.Lock()
	pods := maps.Clone(s.pods)
	s.mu.Unlock()
	now := map[testbed.Place]*corev1.Pod{}
	for where, p := range pods {
		got, err := p.on.Client.CoreV1().Pods(p.plan.Namespace).Get(ctx, p.plan.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", p.plan.Namespace, p.plan.Name, err)
		}
		now[where] = got
	}
	return now, nil
}

// The ports that the service forwards, TCP and UDP.
const (
	firstPort = 5201
	lastPort  = 5210
)

// Ports lists the server's ports that the service forwards, TCP and UDP.
func (s *Site) Ports() []uint16 {
	var ports []uint16
	for p := uint16(firstPort); p <= lastPort; p++ {
		ports = append(ports, p)
	}
	return ports
}

// Address is where the client reaches the server on that path. It is invalid
// where the site has none: before it is ready, or when it was not asked for.
func (s *Site) Address(path testbed.Path) netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == testbed.PodToService {
		return s.service
	}
	_, server := path.Ends()
	if p := s.pods[server]; p != nil {
		return p.address()
	}
	return netip.Addr{}
}

// LinkRate is not known on a cluster: 0.
func (s *Site) LinkRate() float64 { return 0 }

// Await waits until done says true, asking it at growing intervals up to the
// limit of the testbed's timeout ready. What is said in its progress and in the
// error when the limit is reached: "condition Ready of VarmorPolicy demo: status
// Pending".
func (s *Site) Await(ctx context.Context, what string, done func(context.Context) (ok bool, now string, err error)) error {
	on, err := s.presence(ctx)
	if err != nil {
		return err
	}
	return on.Await(ctx, what, s.level.Timeouts.Ready.Std(), done)
}

// Exec runs a program in any container of any pod, for a proof, and gives its
// output of up to 1 MiB. A program that fails is a *testbed.ExitError.
func (s *Site) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	on, err := s.presence(ctx)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.level.Timeouts.Ready.Std())
	defer cancel()
	return on.Exec(limited, namespace, pod, container, args)
}

// Record writes down that a workload makes objects of these kinds with the
// site's labels in the site's namespace, so that Close and Clean remove them
// there even where the namespace is given and stays. It comes before they are made.
func (s *Site) Record(ctx context.Context, kinds ...schema.GroupVersionResource) error {
	on, err := s.ensureNamespace(ctx)
	if err != nil {
		return err
	}
	var items []inventory.Item
	for _, k := range kinds {
		items = append(items, inventory.Item{Group: k.Group, Version: k.Version, Resource: k.Resource, Namespace: s.Namespace()})
	}
	return on.record.Add(ctx, items...)
}
