package pod

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"tare/experiment"
	"tare/layer"
	"tare/testbed"
	"tare/testbed/kube"
)

// Up has the site's pods made in the way of the layer.
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

// rights are those for looking at what the proofs compare pods with.
func (c *Config) rights(namespace string) []experiment.Right {
	var rights []experiment.Right
	if len(c.RuntimeClass) > 0 {
		rights = append(rights, experiment.Right{Group: "node.k8s.io", Resource: "runtimeclasses", Verbs: []string{"get"}, Optional: true,
			Why: "the handler of a RuntimeClass says which sandbox it stands for"})
	}
	if namespace != "" && len(c.security()) > 0 {
		rights = append(rights, experiment.Right{Resource: "namespaces", Verbs: []string{"get"}, Optional: true,
			Why: "whether the namespace's level of Pod Security allows the pods is said before they are made"})
	}
	return rights
}

// admit checks that a given namespace allows the pods. Namespaces that Tare makes get
// the level of Pod Security that layers need (experiment.Needs).
func (c *Config) admit(ctx context.Context, s *kube.Site) error {
	needs := c.security()
	if len(needs) == 0 || s.Parameters().Namespace == "" {
		return nil
	}
	ns, err := s.ReadNamespace(ctx)
	if errors.IsForbidden(err) {
		return nil // the API server will tell when it refuses the pods
	}
	if err != nil {
		return err
	}
	return allowed(ns, needs)
}

// levels are the levels of Pod Security, from the strictest on.
var levels = []string{restricted, baseline, privileged}

// allowed says why a namespace does not allow the pods. Where it has no level of its
// own, the cluster's default holds, which only the API server knows.
func allowed(ns *corev1.Namespace, needs []experiment.PodSecurity) error {
	has, ok := ns.Labels[enforce]
	if !ok || slices.Index(levels, has) >= slices.Index(levels, least(needs)) {
		return nil
	}
	var why []string
	for _, n := range needs {
		why = append(why, n.Why)
	}
	return fmt.Errorf("the namespace %s allows pods of the level %s of Pod Security only, and the level %s is needed: %s: kubectl label --overwrite namespace %s %s=%s, or let Tare make namespaces",
		ns.Name, has, least(needs), strings.Join(why, ", "), ns.Name, enforce, least(needs))
}

// ProveOff shows that the pods are not as the layer makes them, but for what the arm's
// own layer asks for.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	own, _ := s.Own.(*Config)
	if own != nil && own.Patch != "" { // it may ask for anything
		return []layer.Check{notLookedFor()}, nil
	}
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	sandbox, err := c.sandbox(ctx, site)
	if err != nil { // this arm's cluster may be another one, without the class
		sandbox = sandboxOf(c.RuntimeClass.OrZero(), "")
	}
	off := c.aspects(false, sandbox)
	if own != nil {
		off = c.offBeside(own, sandbox)
	}
	if len(off) == 0 {
		return nil, nil
	}
	sights, err := c.look(ctx, site, map[string]*corev1.Node{})
	if err != nil {
		return nil, err
	}
	return append(checks(off, sights, true), checks(off, sights, false)...), nil
}

// active is the layer at one site.
type active struct {
	config  *Config
	site    *kube.Site
	sandbox string
	nodes   map[string]*corev1.Node
	settled []types.UID // the pods that settle has looked at
}

// settle shows what the specification of the pods says once they run, and that
// their nodes can do what is asked of them: a run whose layer cannot be on ends
// before its first trial.
func (a *active) settle(ctx context.Context) ([]layer.Check, error) {
	sights, err := a.config.look(ctx, a.site, a.nodes)
	if err != nil {
		return nil, err
	}
	if err := a.config.capable(sights); err != nil {
		return nil, err
	}
	on := a.config.aspects(true, a.sandbox)
	once := checks(on, sights, true)
	a.settled = uids(sights)
	for _, k := range checks(on, sights, false) {
		if !k.OK {
			return nil, fmt.Errorf("it is not on: %s: expected %s, observed %s", k.Name, k.Expected, k.Observed)
		}
	}
	pods, err := a.site.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if _, beside := split(pods); beside {
		once = append(once, unshaped())
	}
	return once, nil
}

// before shows that the layer is on, by what the pods see of themselves. Of pods that
// have been made again since settle, the specification is looked at too.
func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	sights, err := a.config.look(ctx, a.site, a.nodes)
	if err != nil {
		return nil, err
	}
	on := a.config.aspects(true, a.sandbox)
	out := checks(on, sights, false)
	if !slices.Equal(a.settled, uids(sights)) {
		out = append(checks(on, sights, true), out...)
	}
	return out, nil
}

func uids(sights []sight) []types.UID {
	var ids []types.UID
	for _, s := range sights {
		ids = append(ids, s.pod.UID)
	}
	return ids
}

// offBeside lists what shows that the layer is not on in an arm that has a layer pod of
// its own. It is what off lists, but for the fields that the arm's own layer sets: their
// values are shown by the proof of that one.
func (c *Config) offBeside(own *Config, sandbox string) []aspect {
	rest := *layer.Without(c, own)
	if len(rest.NodeSelector) > 0 { // only a node with all of them is one that the layer chooses
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
	// A privileged container has no filter and all capabilities. This arm's own layer
	// may take the filter away or add capabilities, so that neither is evidence.
	rest.Privileged = false
	return append(rest.aspects(false, sandbox), unprivileged())
}

// unprivileged shows that Tare's container is no privileged one.
func unprivileged() aspect {
	return aspect{name: "privileged", expected: "false", spec: true, show: func(s sight) shown {
		flag := security(s.pod).Privileged
		is := flag != nil && *flag
		return shown{observed: fmt.Sprint(is), ok: !is}
	}}
}

// notLookedFor is the check in an arm whose own layer has a patch: the patch may ask for
// the same as the layer of another arm.
func notLookedFor() layer.Check {
	return layer.Check{Layer: name, Name: "the layer of another arm", Expected: "not on", Observed: "not looked for", OK: true,
		Caveat: "this arm's layer " + name + " has a patch, which may ask for anything: that nothing of another arm's layer " + name + " is on here is not shown"}
}
