package pod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/agent"
)

// Up registers the layer's change to the pods of the site. The testbed creates the pods later.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	sandbox, err := c.sandbox(ctx, site)
	if err != nil {
		return nil, err
	}
	if err := c.admit(ctx, site); err != nil {
		return nil, err
	}
	if c.shapes() {
		site.ShapePods(func(pod *corev1.Pod) error {
			before := pod.DeepCopy()
			if err := c.shape(pod); err != nil {
				return fmt.Errorf("layer %s: %w", name, err)
			}
			if equality.Semantic.DeepEqual(before, pod) {
				return fmt.Errorf("layer %s: the pod %s is like that without the layer, so its arm would be a copy of the arm without it", name, pod.Name)
			}
			return nil
		})
	}
	a := &active{config: c, site: site, sandbox: sandbox, nodes: map[string]*corev1.Node{}}
	return &layer.Active{Settle: a.settle, Before: a.before}, nil
}

func (c *Config) rights(namespace string) []experiment.Right {
	var rights []experiment.Right
	if len(c.RuntimeClass) > 0 {
		rights = append(rights, experiment.Right{Group: "node.k8s.io", Resource: "runtimeclasses", Verbs: []string{"get"}, Optional: true,
			Why: "the handler of a RuntimeClass identifies its sandbox"})
	}
	if namespace != "" && len(c.security()) > 0 {
		rights = append(rights, experiment.Right{Resource: "namespaces", Verbs: []string{"get"}, Optional: true,
			Why: "to check that the namespace's level of Pod Security allows the pods before they are created"})
	}
	return rights
}

// admit checks that an existing namespace allows the layer's pods (Pod Security). A namespace that Tare creates needs
// no check: it gets the right level.
func (c *Config) admit(ctx context.Context, s *kube.Site) error {
	needs := c.security()
	if len(needs) == 0 || s.Parameters().Namespace == "" {
		return nil
	}
	ns, err := s.ReadNamespace(ctx)
	if errors.IsForbidden(err) {
		return nil // Tare may not read the namespace; if it does not allow the pods, making them fails later
	}
	if err != nil {
		return err
	}
	return allowed(ns, needs)
}

// allowed returns an error if the Pod Security level of a namespace does not allow the pods. It cannot tell the
// cluster's default: nil without a level.
func allowed(ns *corev1.Namespace, needs []experiment.PodSecurity) error {
	has, ok := ns.Labels[enforce]
	if !ok || slices.Index(levels, has) >= slices.Index(levels, least(needs)) {
		return nil
	}
	why := lists.Map(needs, func(n experiment.PodSecurity) string { return n.Why })
	return fmt.Errorf("the namespace %s allows only pods of the Pod Security level %s, but the level %s is needed: %s: kubectl label --overwrite namespace %s %s=%s, or let Tare make namespaces",
		ns.Name, has, least(needs), strings.Join(why, ", "), ns.Name, enforce, least(needs))
}

// ProveOff shows that the arm's pods lack the settings of another arm's layer pod. It leaves out the settings that the
// arm's own layer pod sets.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	own, _ := s.Own.(*Config)
	if own != nil && own.Patch != "" {
		return []layer.Check{{Layer: name, Name: "the layer of another arm", Expected: "not on", Observed: "not checked", OK: true,
			Caveat: "this arm's layer " + name + " has a patch, which may set any field: Tare cannot show that another arm's layer " + name + " is off here"}}, nil
	}
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	sandbox, err := c.sandbox(ctx, site)
	if err != nil { // the arms may be on different clusters, and this arm's cluster may lack the class
		sandbox = sandboxOf(c.RuntimeClass.OrZero(), "")
	}
	off := c.aspects(false, sandbox)
	if own != nil {
		off = c.offBeside(own, sandbox)
	}
	if len(off) == 0 {
		return nil, nil
	}
	views, err := c.look(ctx, site, map[string]*corev1.Node{})
	if err != nil {
		return nil, err
	}
	return append(checks(off, views, true), checks(off, views, false)...), nil
}

type active struct {
	config  *Config
	site    *kube.Site
	sandbox string
	nodes   map[string]*corev1.Node
	settled []types.UID // ids of the pods that the method settle has checked
}

// settle checks the specification of the running pods, and that their nodes support the settings. If the layer cannot
// be on, the run ends before its first trial.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	views, err := a.config.look(ctx, a.site, a.nodes)
	if err != nil {
		return nil, err
	}
	if err := a.config.capable(views); err != nil {
		return nil, err
	}
	on := a.config.aspects(true, a.sandbox)
	once := checks(on, views, true)
	a.settled = uids(views)
	for _, k := range checks(on, views, false) {
		if !k.OK {
			return nil, fmt.Errorf("the layer is not on: %s: expected %s, observed %s", k.Name, k.Expected, k.Observed)
		}
	}
	pods, err := a.site.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if _, beside := split(pods); beside {
		once = append(once, layer.Check{Layer: name, Name: "programs on the nodes", Expected: "as without the layer", Observed: "not checked", OK: true,
			Caveat: "the layer " + name + " does not apply to the path node-to-node: its programs run on the nodes' network, the same in every arm"})
	}
	return once, nil
}

// before shows that the layer is on. The evidence is what processes in the pods see, and the specifications of new
// pods.
func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	views, err := a.config.look(ctx, a.site, a.nodes)
	if err != nil {
		return nil, err
	}
	on := a.config.aspects(true, a.sandbox)
	out := checks(on, views, false)
	if !slices.Equal(a.settled, uids(views)) {
		out = append(checks(on, views, true), out...)
	}
	return out, nil
}

func uids(views []podView) []types.UID {
	return lists.Map(views, func(s podView) types.UID { return s.pod.UID })
}

// offBeside lists the settings of c whose checks show that c is off in another arm. That arm has a pod layer, own. Most
// settings that both c and own set are left out: the proof of own shows them.
func (c *Config) offBeside(own *Config, sandbox string) []aspect {
	rest := *layer.Without(c, own)
	if len(rest.NodeSelector) > 0 { // all labels are checked together: the layer chooses only nodes that have all of them
		rest.NodeSelector = c.NodeSelector
	}
	rest.Sidecars = slices.DeleteFunc(slices.Clone(c.Sidecars), func(s string) bool { return slices.Contains(own.Sidecars, s) })
	rest.Patch = c.Patch
	if own.Privileged {
		rest.AppArmor, rest.Seccomp, rest.Capabilities = nil, nil, nil
	}
	if !rest.Privileged || len(own.Seccomp) == 0 && own.Capabilities == nil {
		return rest.aspects(false, sandbox)
	}
	// A privileged container normally has all capabilities and no seccomp filter. The arm's own layer may change the
	// capabilities and the filter, so only the flag privileged is evidence.
	rest.Privileged = false
	return append(rest.aspects(false, sandbox), unprivileged())
}

func unprivileged() aspect {
	return aspect{name: "privileged", expected: "false", spec: true, show: func(s podView) shown {
		flag := security(s.pod).Privileged
		is := flag != nil && *flag
		return shown{observed: fmt.Sprint(is), ok: !is}
	}}
}

// podView is the evidence about one pod: its object, the facts that a process in the pod sees, and its node.
type podView struct {
	place testbed.Place
	pod   *corev1.Pod
	facts agent.Facts
	node  *corev1.Node // set if the proof compares the pod with its node
}

// split returns the pods that the layer changes. Pods on the nodes' network are not changed. The result beside is true
// if the site has such pods.
func split(pods map[testbed.Place]*corev1.Pod) (shaped map[testbed.Place]*corev1.Pod, beside bool) {
	shaped = maps.Clone(pods)
	maps.DeleteFunc(shaped, func(p testbed.Place, _ *corev1.Pod) bool { return p == testbed.ClientNode || p == testbed.ServerNode })
	return shaped, len(shaped) < len(pods)
}

// look gathers the evidence about the pods that layers shape. It adds the nodes that it reads to the map nodes.
func (c *Config) look(ctx context.Context, s *kube.Site, nodes map[string]*corev1.Node) ([]podView, error) {
	pods, err := s.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if pods, _ = split(pods); len(pods) == 0 {
		return nil, fmt.Errorf("the workload has no pods at this site that the layer could be put around")
	}
	var views []podView
	for _, place := range slices.Sorted(maps.Keys(pods)) {
		v := podView{place: place, pod: pods[place]}
		if v.facts, err = s.Facts(ctx, place); err != nil {
			return nil, fmt.Errorf("read the facts that the pod %s sees: %w", v.pod.Name, err)
		}
		if len(c.NodeSelector) > 0 || len(c.RuntimeClass) > 0 { // node selectors and runtime classes are checked against the node
			if v.node, err = node(ctx, s, v.pod.Spec.NodeName, nodes); err != nil {
				return nil, err
			}
		}
		views = append(views, v)
	}
	return views, nil
}

func node(ctx context.Context, s *kube.Site, name string, known map[string]*corev1.Node) (*corev1.Node, error) {
	if n := known[name]; n != nil {
		return n, nil
	}
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	n, err := cluster.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	known[name] = n
	return n, nil
}

// sandboxOf finds the sandbox of a RuntimeClass by the names of the class and its handler; "" if it is unknown.
func sandboxOf(class, handler string) string {
	for _, word := range []string{handler, class} {
		word = strings.ToLower(word)
		switch {
		case strings.Contains(word, "gvisor"), strings.Contains(word, "runsc"):
			return gvisor
		case strings.Contains(word, "kata"):
			return kata
		}
	}
	return ""
}

// These are sandboxes that a program can detect from inside.
const (
	gvisor = "gvisor"
	kata   = "kata"
)

// sandbox returns the sandbox of the layer's RuntimeClass. A missing class is an error. If Tare may not read the class,
// the class's name decides.
func (c *Config) sandbox(ctx context.Context, s *kube.Site) (string, error) {
	class := c.RuntimeClass.OrZero()
	if class == "" {
		return "", nil
	}
	cluster, err := s.Cluster(ctx)
	if err != nil {
		return "", err
	}
	found, err := cluster.Client.NodeV1().RuntimeClasses().Get(ctx, class, metav1.GetOptions{})
	switch {
	case errors.IsNotFound(err):
		return "", fmt.Errorf("the cluster of context %s has no RuntimeClass %s: list its classes with kubectl get runtimeclasses", cluster.Context, class)
	case errors.IsForbidden(err):
		return sandboxOf(class, ""), nil
	case err != nil:
		return "", fmt.Errorf("read RuntimeClass %s: %w", class, err)
	}
	return sandboxOf(class, found.Handler), nil
}

// aspect is one setting of the layer pod, with a check that shows this setting in a running pod.
type aspect struct {
	name     string
	expected string
	spec     bool // set if the proof rests on the pod's specification, which never changes
	show     func(podView) shown
}

type shown struct {
	observed string
	ok       bool
	caveat   string
}

func (a aspect) check(views []podView) layer.Check {
	k := layer.Check{Layer: name, Name: a.name, Expected: a.expected, OK: true}
	var all, each, caveats []string
	for _, s := range views {
		got := a.show(s)
		all, each = append(all, got.observed), append(each, fmt.Sprintf("%s: %s", s.place, got.observed))
		k.OK = k.OK && got.ok
		if got.caveat != "" && !slices.Contains(caveats, got.caveat) {
			caveats = append(caveats, got.caveat)
		}
	}
	k.Observed, k.Caveat = strings.Join(each, "; "), strings.Join(caveats, "; ")
	if same := slices.Compact(all); len(same) == 1 {
		k.Observed = same[0]
	}
	return k
}

// checks makes, in all pods, the checks of those settings (aspects) whose field spec equals the argument spec.
func checks(aspects []aspect, views []podView, spec bool) []layer.Check {
	aspects = slices.DeleteFunc(slices.Clone(aspects), func(a aspect) bool { return a.spec != spec })
	return lists.Map(aspects, func(a aspect) layer.Check { return a.check(views) })
}
