package manifests

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/experiment/quantity"
	"tare/experiment/strictyaml"
	"tare/layer/placeholder"
)

// Config is the parameters of the layer.
type Config struct {
	Files     []File                 `yaml:"files" json:"files,omitempty" doc:"files of objects in YAML, relative to the experiment file; their content is kept with the run"`
	Inline    strictyaml.Document    `yaml:"inline" json:"inline,omitempty" doc:"objects: one as a map, several as a list of maps, or text in YAML with documents separated by ---"`
	Factors   factor.Named           `yaml:"factors" json:"factors,omitempty" doc:"levels by name: $(NAME) in inline, files and wait stands for the level of an arm"`
	Repeat    map[string]factor.Word `yaml:"repeat" json:"repeat,omitempty" doc:"lists by their path, or objects by their kind, and how many items each is to have, or how many are made: a factor's name or a number. Items are taken in turn; $(item) is the number of an item or object"`
	When      When                   `yaml:"when" json:"when" enum:"before-pods,after-pods" doc:"when they are applied: before-pods or after-pods"`
	Wait      []Wait                 `yaml:"wait" json:"wait,omitempty" doc:"what must hold once they are applied, and in every trial"`
	Scope     Scope                  `yaml:"scope" json:"scope" enum:"namespace,arm" doc:"whom they concern: what is in the arm's own namespace (namespace), or this arm only although they are outside of it (arm)"`
	Exclusive bool                   `yaml:"exclusive" json:"exclusive" doc:"they concern other arms too: they are there during the trials of this arm only"`
	Settle    quantity.Duration      `yaml:"settle" json:"settle" min:"0s" max:"1h" doc:"with exclusive: how long to wait after they were applied, and likewise deleted, before the next trial"`
}

// File is a file of manifests with its content.
type File struct {
	Name string `yaml:"name" json:"name"` // as written
	Text string `yaml:"text" json:"text"` // as it was read
}

// UnmarshalText takes the name.
func (f *File) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("no file is named")
	}
	f.Name = string(text)
	return nil
}

// When says when the objects are applied.
type When string

// The moments.
const (
	BeforePods When = "before-pods" // what acts on pods as they are made, such as a webhook's policy
	AfterPods  When = "after-pods"
)

// Scope says whom the objects concern.
type Scope string

// The scopes.
const (
	OwnNamespace Scope = "namespace"
	OwnArm       Scope = "arm"
)

// Wait is a condition of an object, one that is applied or another one.
type Wait struct {
	Kind       string `yaml:"kind" json:"kind" required:"true" doc:"kind of the object"`
	Name       string `yaml:"name" json:"name" required:"true" doc:"name of the object"`
	APIVersion string `yaml:"apiVersion" json:"apiVersion,omitempty" doc:"of the object, where it is none of those applied"`
	Namespace  string `yaml:"namespace" json:"namespace,omitempty" doc:"of the object, where it is none of those applied; the arm's if absent"`
	Condition  string `yaml:"condition" json:"condition" required:"true" doc:"type of a condition that is True, such as Ready, or a field and its value, such as status.phase=Ready"`
}

// Bounds on what is applied.
const (
	maxObjects = 100
	maxText    = 1 << 20 // bytes of all files and inline
)

// readFiles reads the files.
func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
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

// validate checks the objects and what is to be waited for.
func (c *Config) validate() []experiment.FieldError {
	var errs experiment.FieldErrors
	total := len(c.Inline)
	for _, f := range c.Files {
		total += len(f.Text)
	}
	if total > maxText {
		errs.Add("", "the manifests have %d bytes; at most %d are taken", total, maxText)
		return errs
	}
	c.checkFactors(&errs)
	if len(errs) > 0 {
		return errs
	}
	objects, problems := c.everyLevel()
	for field, all := range problems {
		errs.Add(field, "%s", summary(all))
	}
	if len(objects) == 0 && len(problems) == 0 {
		errs.Add("", "no object is given: name files, or write them below inline")
	}
	if len(objects) > maxObjects {
		errs.Add("", "%d objects; at most %d are taken", len(objects), maxObjects)
	}
	if c.Exclusive && c.Scope == OwnArm {
		errs.Add("exclusive", "what concerns this arm only (scope: arm) can stay during the trials of others")
	}
	if c.Settle > 0 && !c.Exclusive {
		errs.Add("settle", "only exclusive objects are applied and deleted between trials")
	}
	if c.Exclusive && c.When == AfterPods {
		errs.Add("when", "exclusive objects are applied before every trial of their arm, after the pods are there, and may not be there before")
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
			errs.Add(fmt.Sprintf("wait[%d]", i), "%s %s is none of the objects: give its apiVersion", w.Kind, w.Name)
		}
	}
	return errs
}

// everyLevel are the objects at the first level of each factor, and the problems at all levels.
func (c *Config) everyLevel() (objects []object, problems map[string][]string) {
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

// find is the position of the object that is applied and waited for; -1: it is none of these.
func (w Wait) find(objects []object) int {
	return slices.IndexFunc(objects, func(o object) bool {
		return o.GetKind() == w.Kind && o.GetName() == w.Name &&
			(w.APIVersion == "" || w.APIVersion == o.GetAPIVersion()) && (w.Namespace == "" || w.Namespace == o.GetNamespace())
	})
}

// summary is the first problems in a line.
func summary(problems []string) string {
	const most = 5
	if extra := len(problems) - most; extra > 0 {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more problems", extra))
	}
	return strings.Join(problems, "; ")
}

// rights are those to apply, read and delete the objects, and to read what is
// waited for. Which resource a kind is, and whether it has namespaces, is known
// to the cluster only: it is guessed by the rule that nearly all kinds follow.
func (c *Config) rights(namespace string) []experiment.Right {
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
