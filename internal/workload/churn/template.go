package churn

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/experiment"
	"tare/internal/text/tmpl"
	"tare/internal/workload"
)

// values are the variables that a template can use.
type values struct {
	Index     int    // index of the object: 0, 1, 2 …
	Name      string // name of the object
	Namespace string // namespace of the trial
	Objects   int    // number of objects in the trial
	Revision  int    // 1 when the object is made; grows by one with every update
}

// kind is a kind of object in the Kubernetes API.
type kind struct{ group, version, name string }

// String returns text such as "apps/v1 Deployment".
func (k kind) String() string {
	if k.group == "" {
		return k.version + " " + k.name
	}
	return k.group + "/" + k.version + " " + k.name
}

// revisionKey is the annotation with the object's revision. The revision tells the watch which update an event belongs
// to.
const revisionKey = "tare/revision"

type source struct {
	template *tmpl.Template
	ready    Condition // condition for being ready, for objects of the template's kind; never auto
	fixed    int
	kind     kind
	resource schema.GroupVersionResource // resource of the template's kind; newTarget sets this field
}

// compile parses the template and renders one object as a check.
func (t Template) compile() (*source, error) {
	switch {
	case t.Inline != "" && t.File != "":
		return nil, errors.New("there are inline and file; give one of them")
	case t.Inline == "" && t.File == "":
		return nil, errors.New("there is neither inline nor file")
	}
	text := cmp.Or(string(t.Inline), t.read)
	if len(text) > mostTemplate {
		return nil, fmt.Errorf("the template has %d bytes, more than %d", len(text), mostTemplate)
	}
	parsed, err := tmpl.Parse("object", text)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	s := &source{template: parsed, fixed: t.Fixed}
	object, err := s.render(values{Name: "name", Namespace: "namespace", Objects: 1, Revision: 1})
	if err != nil {
		return nil, err
	}
	if s.kind, err = kindOf(object); err != nil {
		return nil, err
	}
	s.ready = t.Ready.forKind(s.kind)
	return s, nil
}

func (c *Config) readFiles(read func(string) ([]byte, error)) []experiment.FieldError {
	var errs experiment.FieldErrors
	for i := range c.Templates {
		t := &c.Templates[i]
		errs = append(errs, workload.ReadFile(read, fmt.Sprintf("templates[%d].file", i), t.File, &t.read)...)
	}
	return errs
}

// render returns the template's object, to which Tare adds the name, labels and owners later.
func (s *source) render(v values) (map[string]any, error) {
	var out limited
	err := s.template.Execute(&out, map[string]any{"Index": v.Index, "Name": v.Name, "Namespace": v.Namespace, "Objects": v.Objects, "Revision": v.Revision})
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return oneObject(out.String())
}

// oneObject parses YAML that must contain exactly one object.
func oneObject(text string) (map[string]any, error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var found map[string]any
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var value any
		if err == nil {
			document, err = yaml.ToJSON(document)
		}
		if err == nil {
			err = json.Unmarshal(document, &value)
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		object, ok := value.(map[string]any)
		switch {
		case value == nil:
			continue // a document with only a separator or a comment
		case !ok:
			return nil, errors.New("not an object with apiVersion and kind")
		case found != nil:
			return nil, errors.New("there are several documents; a template must give exactly one object")
		}
		found = object
	}
	if found == nil {
		return nil, errors.New("the template gives no object")
	}
	return found, nil
}

// kindOf reads the kind of an object from its fields apiVersion and kind.
func kindOf(object map[string]any) (kind, error) {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	if !plainWord(version) || grouped && !plainWord(group) || !plainWord(name) {
		return kind{}, fmt.Errorf("apiVersion %.60q and kind %.60q do not name a kind of object", apiVersion, name)
	}
	k := kind{group, version, name}
	switch {
	case name == "List":
		return kind{}, errors.New("a List contains several objects; a template must give exactly one")
	case clusterScoped[name] && wellKnown(group):
		return kind{}, fmt.Errorf("a %s is not namespaced; churn makes objects in the arm's namespace only", name)
	}
	return k, nil
}

// clusterScoped holds well-known kinds without a namespace, whose templates are refused. For other kinds the cluster is
// asked before the first trial.
var clusterScoped = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"CustomResourceDefinition": true, "StorageClass": true, "PriorityClass": true, "RuntimeClass": true, "APIService": true,
	"MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true, "ValidatingAdmissionPolicy": true,
	"CSIDriver": true, "CSINode": true, "IngressClass": true, "VolumeAttachment": true,
}

// wellKnown reports whether an API group is one of Kubernetes' own.
func wellKnown(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// plainWord reports whether s can be part of a URL path without escaping.
func plainWord(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, ".") != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(wordRunes, r)
	})
}

const wordRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."

// ownership holds the labels and owner references that mark the objects as a run's.
type ownership struct {
	labels map[string]string
	owners []metav1.OwnerReference // owners of the objects: if the run is lost, Kubernetes deletes the objects together with their owners
}

// finish sets the parts of an object that a template may not choose: name, namespace, labels, owners and the
// revision.
func (s *source) finish(object map[string]any, v values, own ownership) ([]byte, error) {
	if got, err := kindOf(object); err != nil {
		return nil, err
	} else if got != s.kind {
		return nil, fmt.Errorf("object %d is a %s, and the first one a %s; a template makes objects of one kind", v.Index, got, s.kind)
	}
	metadata, err := member(object, "metadata")
	if err != nil {
		return nil, err
	}
	for field, want := range map[string]string{"name": v.Name, "namespace": v.Namespace} {
		if have, given := metadata[field]; given && have != want {
			return nil, fmt.Errorf("metadata.%s is %.80q; write {{.%s}}, or leave it out", field, fmt.Sprint(have), strings.ToUpper(field[:1])+field[1:])
		}
		metadata[field] = want
	}
	if _, given := metadata["generateName"]; given {
		return nil, errors.New("metadata.generateName is not possible: Tare names the objects by their index")
	}
	labels, err := member(metadata, "labels")
	if err != nil {
		return nil, err
	}
	for key, value := range own.labels {
		labels[key] = value
	}
	if len(own.owners) > 0 {
		metadata["ownerReferences"] = own.owners
	}
	notes, err := member(metadata, "annotations")
	if err != nil {
		return nil, err
	}
	notes[revisionKey] = fmt.Sprint(v.Revision)
	return json.Marshal(object)
}

// member returns the map in an object's field of this name. If the object lacks the field, member adds an empty map.
func member(object map[string]any, name string) (map[string]any, error) {
	switch have := object[name].(type) {
	case map[string]any:
		return have, nil
	case nil:
		made := map[string]any{}
		object[name] = made
		return made, nil
	}
	return nil, fmt.Errorf("%s is not a map", name)
}

// Bounds on templates. Ordinary objects are far smaller. The bounds keep a template from using up memory or time.
const (
	mostTemplate = 256 << 10 // bytes of a template
	mostRendered = 512 << 10 // bytes of a rendered object; etcd accepts 1.5 MiB
)

// limited is a writer that fails when a template writes too much.
type limited struct{ strings.Builder }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > mostRendered {
		return 0, fmt.Errorf("the object has more than %d bytes", mostRendered)
	}
	return l.Builder.Write(p)
}
