// Package manifests is a layer of Kubernetes objects, such as policies. The objects exist for the arm with the layer,
// and not for the other arms.
//
//   - manifests:
//     inline: |
//     apiVersion: security.istio.io/v1
//     kind: PeerAuthentication
//     metadata: {name: strict}
//     spec: {mtls: {mode: STRICT}}
//
// Tare puts an object without a namespace into the arm's own namespace, by server-side apply, before the arm's pods are
// created. An object outside of that namespace would affect the other arms, too. Tare refuses it, unless the file
// declares that the object does not affect the other arms (scope: arm) or exists during the trials of this arm only
// (exclusive).
//
// Proof, before every trial: each object has every applied field, its controller has seen its current generation, and
// the conditions hold. In the other arms the objects do not exist. The layer proof can show that the objects have an
// effect.
package manifests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
	"tare/internal/layer"
	"tare/internal/layer/placeholder"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

const name = "manifests"

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "Kubernetes objects that are applied in the arm, such as a policy",
	Example: "inline: |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: example}",
	New:     func() layer.Layer { return &config{When: beforePods, Scope: ownNamespace} },
	Probe:   testbed.AlwaysWorks(name, "any object that the cluster has a kind for"),
}

func (c *config) Declare() experiment.Declaration {
	return experiment.Declaration{
		ReadFiles:    c.readFiles,
		Validate:     c.validate,
		Needs:        experiment.Needs{Only: experiment.TestbedKubernetes},
		Elsewhere:    "there are no Kubernetes objects: put a command in front of the programs with the layer wrap, or turn something on with the layer switch",
		Rights:       c.rights,
		ProvesBeside: true,
	}
}

// Up applies the objects before the pods are created. Exceptions: with when: after-pods, Settle applies them; with
// exclusive, Switch does.
func (c *config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	// DownLimit is longer than the site's own timeouts. So a timeout of the site comes first, and its error is more
	// precise.
	timeouts := site.Parameters().Timeouts
	limit := timeouts.Delete.Std() + timeouts.Request.Std() + 5*time.Second
	a := &active{config: c.filled(), on: site}
	if err := a.up(ctx, site.Parameters().Namespace != ""); err != nil {
		return nil, err
	}
	up := &layer.Active{Settle: a.settle, Before: a.before, Down: a.down, DownLimit: limit}
	if c.Exclusive {
		up.Switch = &layer.Switch{On: a.apply, Off: a.down, Settling: c.Settle.Std()}
	}
	return up, nil
}

// ProveOff shows that the layer's objects do not exist at the site of another arm, except those that the other arm's
// own layer manifests has.
func (c *config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	site, err := kube.Of(s.Site)
	if err != nil {
		return nil, err
	}
	own, _ := s.Own.(*config)
	if own != nil {
		own = own.filled()
	}
	c = c.filled()
	check, err := c.absent(ctx, site, site.Parameters().Namespace != "", own)
	if check.Name == "" && err == nil {
		return nil, nil // nothing to check: this arm's own layer has the same objects
	}
	return []layer.Check{check}, err
}

// shared returns the reason why an object would affect other arms; "" if it would not.
func shared(namespaced bool, namespace, own string, given bool) string {
	switch {
	case !namespaced:
		return "it belongs to the whole cluster"
	case namespace != own:
		return "it is in namespace " + namespace + ", and not in the arm's own"
	case given:
		return "all arms share the namespace " + own
	}
	return ""
}

type config struct {
	Files     []file                 `yaml:"files" json:"files,omitempty" doc:"files of objects in YAML, relative to the experiment file; the run keeps a copy of their content"`
	Inline    strictyaml.Document    `yaml:"inline" json:"inline,omitempty" doc:"objects: one as a map, several as a list of maps, or text in YAML with documents separated by ---"`
	Factors   factor.Named           `yaml:"factors" json:"factors,omitempty" doc:"levels by name: $(NAME) in inline, files and wait is replaced by the arm's level"`
	Repeat    map[string]factor.Word `yaml:"repeat" json:"repeat,omitempty" doc:"number of items of a list, by its path, or of objects of a kind, by the kind: a factor's name or a number. Given items are repeated in turn; $(item) is the number of an item or object"`
	When      when                   `yaml:"when" json:"when" enum:"before-pods,after-pods" doc:"time at which the objects are applied: before-pods or after-pods"`
	Wait      []wait                 `yaml:"wait" json:"wait,omitempty" doc:"conditions that must hold once the objects are applied, and in every trial"`
	Scope     scope                  `yaml:"scope" json:"scope" enum:"namespace,arm" doc:"what the objects affect: namespace: only the arm's own namespace; arm: only this arm, although some objects are outside of its namespace"`
	Exclusive bool                   `yaml:"exclusive" json:"exclusive" doc:"the objects would affect other arms, too: they exist during the trials of this arm only"`
	Settle    quantity.Duration      `yaml:"settle" json:"settle" min:"0s" max:"1h" doc:"with exclusive: wait between applying or deleting the objects and the next trial"`
}

type file struct {
	Name string `yaml:"name" json:"name"` // file name as in the experiment file
	Text string `yaml:"text" json:"text"` // content of the file
}

func (f *file) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("the name of a file is empty")
	}
	f.Name = string(text)
	return nil
}

type when string

const (
	beforePods when = "before-pods" // for objects that take effect when a pod is created, such as a webhook's policy
	afterPods  when = "after-pods"
)

type scope string

const (
	ownNamespace scope = "namespace"
	OwnArm       scope = "arm"
)

// wait is a condition for which the layer waits. It is a condition of an object that the layer applies, or of
// another object in the cluster.
type wait struct {
	Kind       string `yaml:"kind" json:"kind" required:"true" doc:"kind of the object"`
	Name       string `yaml:"name" json:"name" required:"true" doc:"name of the object"`
	APIVersion string `yaml:"apiVersion" json:"apiVersion,omitempty" doc:"apiVersion of an object that the layer does not apply"`
	Namespace  string `yaml:"namespace" json:"namespace,omitempty" doc:"namespace of an object that the layer does not apply; absent: the arm's"`
	Condition  string `yaml:"condition" json:"condition" required:"true" doc:"type of a condition that is True, such as Ready, or a field and its value, such as status.phase=Ready"`
}

const (
	maxObjects = 100
	maxText    = 1 << 20 // largest size in bytes of all files and the parameter inline together
)

func (c *config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	var errs experiment.FieldErrors
	for i := range c.Files {
		data, err := read(c.Files[i].Name)
		if err != nil {
			errs.Add(fmt.Sprintf("files[%d]", i), "%v", err)
		}
		c.Files[i].Text = string(data)
	}
	return errs
}

func (c *config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	total := len(c.Inline)
	for _, f := range c.Files {
		total += len(f.Text)
	}
	if total > maxText {
		errs.Add("", "the manifests have %d bytes; the limit is %d", total, maxText)
		return errs
	}
	if c.checkFactors(&errs); len(errs) > 0 {
		return errs
	}
	objects, problems := c.everyLevel()
	for field, all := range problems {
		errs.Add(field, "%s", summary(all))
	}
	if len(objects) == 0 && len(problems) == 0 {
		errs.Add("", "there is no object: list files, or write objects below inline")
	}
	if len(objects) > maxObjects {
		errs.Add("", "there are %d objects; the limit is %d", len(objects), maxObjects)
	}
	if c.Exclusive && c.Scope == OwnArm {
		errs.Add("exclusive", "objects that affect this arm only (scope: arm) can stay during the trials of others")
	}
	if c.Settle > 0 && !c.Exclusive {
		errs.Add("settle", "only exclusive objects are applied and deleted between trials")
	}
	if c.Exclusive && c.When == afterPods {
		errs.Add("when", "exclusive objects are applied before every trial of their arm, when its pods exist already")
	}
	for i, w := range c.filled().Wait {
		if _, err := parseCondition(w.Condition); err != nil {
			errs.Add(fmt.Sprintf("wait[%d].condition", i), "%v", err)
		}
		for field, text := range map[string]string{"name": w.Name, "namespace": w.Namespace, "condition": w.Condition} {
			if err := placeholder.Check(text, placeholder.Namespace); err != nil {
				errs.Add(fmt.Sprintf("wait[%d].%s", i, field), "%v", err)
			}
		}
		if w.APIVersion == "" && len(problems) == 0 && w.find(objects) < 0 {
			errs.Add(fmt.Sprintf("wait[%d]", i), "%s %s is not one of the objects: set its apiVersion", w.Kind, w.Name)
		}
	}
	return errs
}

// everyLevel returns the objects at the first level of each factor, and the problems at all levels.
func (c *config) everyLevel() (objects []object, problems map[string][]string) {
	problems = map[string][]string{}
	for i, v := range c.variants() {
		all, found := v.objects()
		if i == 0 {
			objects = all
		}
		for field, texts := range found {
			for _, text := range texts {
				if !slices.Contains(problems[field], text) {
					problems[field] = append(problems[field], text)
				}
			}
		}
	}
	return objects, problems
}

// find returns the index of the object that the condition is about; -1 if the layer does not apply this object.
func (w wait) find(objects []object) int {
	return slices.IndexFunc(objects, func(o object) bool {
		return o.GetKind() == w.Kind && o.GetName() == w.Name &&
			(w.APIVersion == "" || w.APIVersion == o.GetAPIVersion()) && (w.Namespace == "" || w.Namespace == o.GetNamespace())
	})
}

func summary(problems []string) string {
	const most = 5
	if extra := len(problems) - most; extra > 0 {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more problems", extra))
	}
	return strings.Join(problems, "; ")
}

// rights lists the rights to apply, read and delete the layer's objects, and to read the objects whose conditions the
// layer waits for. The names of resources are guessed from kinds, by a rule that holds for nearly all.
func (c *config) rights(namespace string) []experiment.Right {
	var list []experiment.Right
	add := func(apiVersion, kind, ns string, verbs ...string) {
		if ns == "" || ns != placeholdersGone(ns) {
			ns = namespace
		}
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return
		}
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
		list = append(list, experiment.Right{Group: plural.Group, Resource: plural.Resource, Verbs: verbs, Namespace: ns, Why: "the layer manifests applies " + kind})
	}
	for _, v := range c.variants() {
		objects, _ := v.objects()
		for _, o := range objects {
			add(o.GetAPIVersion(), o.GetKind(), o.GetNamespace(), "create", "delete", "get", "patch")
		}
	}
	for _, w := range c.filled().Wait {
		if w.APIVersion != "" {
			add(w.APIVersion, w.Kind, w.Namespace, "get")
		}
	}
	return list
}
