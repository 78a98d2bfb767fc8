package manifests

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/experiment/strictyaml"
	"tare/internal/layer/placeholder"
)

// object is one Kubernetes object of a manifest, with the file and line in which it begins.
type object struct {
	unstructured.Unstructured
	source string
	line   int
}

func title(u *unstructured.Unstructured) string {
	text := u.GetKind() + " " + u.GetName()
	if u.GetNamespace() != "" {
		text += " in " + u.GetNamespace()
	}
	return text
}

// identity returns a key for the object. Objects that differ only in the API version of their kind have the same
// key.
func (o object) identity() string {
	group, err := schema.ParseGroupVersion(o.GetAPIVersion())
	if err != nil {
		group.Group = o.GetAPIVersion()
	}
	return strings.Join([]string{group.Group, o.GetKind(), o.GetNamespace(), o.GetName()}, "\x00")
}

var (
	kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	// The regular expressions versioned and objectName take long to compile, since they have large repeat counts. Tare
	// compiles them at their first use, and so starts faster.
	versioned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?/)?v[0-9][a-z0-9]{0,30}$`)
	})
	objectName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\x00-\x20/%\x7f]{1,253}$`) })
	label      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

var fromServer = []string{"uid", "resourceVersion", "generation", "managedFields", "selfLink", "deletionTimestamp", "creationTimestamp"}

// object decodes one document. It reports contents of two kinds: those that every cluster would refuse, and those that
// a run must not store.
func (d decoder) object(source string, n *strictyaml.Node) (object, bool) {
	o := object{source: source, line: n.Line}
	if n.Form != strictyaml.Map {
		d.bad(n, "", "a document must be an object: a map with apiVersion, kind and metadata")
		return o, false
	}
	o.Object = d.mapping(n)
	place := func(keys ...string) *strictyaml.Node { return within(n, keys...) }
	check := func(ok bool, what, text, form string, keys ...string) {
		switch {
		case text == "":
			d.bad(place(keys...), "", "%s is missing, or not a text", what)
		case !ok:
			d.bad(place(keys...), "", "%s is %q; expected %s", what, text, form)
		}
	}
	bare := placeholdersGone(o.GetName())
	check(versioned().MatchString(o.GetAPIVersion()), "apiVersion", o.GetAPIVersion(), "a version such as v1 or apps/v1", "apiVersion")
	check(kindName.MatchString(o.GetKind()), "kind", o.GetKind(), "a kind such as ConfigMap", "kind")
	check(objectName().MatchString(bare), "metadata.name", o.GetName(), "a name without spaces, slashes and percent signs", "metadata", "name")
	if metadata, ok := o.Object["metadata"].(map[string]any); ok && metadata["namespace"] != nil && o.GetNamespace() == "" {
		d.bad(place("metadata", "namespace"), "", "metadata.namespace is not a text")
	}
	if ns := o.GetNamespace(); ns != "" && !label.MatchString(placeholdersGone(ns)) {
		d.bad(place("metadata", "namespace"), "", "metadata.namespace is %q; expected lower-case letters, digits and dashes", ns)
	}
	d.refuse(o, place)
	d.placeholders(n)
	return o, len(d.file.Problems()) == 0
}

func (d decoder) refuse(o object, place func(...string) *strictyaml.Node) {
	if strings.HasSuffix(o.GetKind(), "List") && o.Object["items"] != nil {
		d.bad(place("kind"), "separate them by ---", "a %s: write each of its objects as a document of its own", o.GetKind())
	}
	if o.GetKind() == "Secret" && o.GetAPIVersion() == "v1" {
		d.bad(place("kind"), "create it in the cluster before the run", "a Secret: the run stores every manifest as written, and would store the secret, too")
	}
	if o.Object["status"] != nil {
		d.bad(place("status"), "leave it out", "status is set by the cluster, and ignored in a manifest")
	}
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range fromServer {
		if metadata[field] != nil {
			d.bad(place("metadata", field), "leave it out", "metadata.%s is set by the cluster, and ignored in a manifest", field)
		}
	}
	for _, kind := range []string{"labels", "annotations"} {
		values, given := metadata[kind]
		texts, ok := values.(map[string]any)
		if given && !ok {
			d.bad(place("metadata", kind), "", "metadata.%s is not a map", kind)
		}
		for key, v := range texts {
			if _, ok := v.(string); !ok {
				d.bad(place("metadata", kind, key), "put it in quotes", "metadata.%s.%s is not a text", kind, key)
			}
			if strings.HasPrefix(key, "tare/") {
				d.bad(place("metadata", kind, key), "", "metadata.%s.%s: names that start with tare/ are reserved for Tare", kind, key)
			}
		}
	}
}

func (d decoder) placeholders(n *strictyaml.Node) {
	if n.Form == strictyaml.Text {
		if err := placeholder.Check(n.Value, placeholder.Namespace); err != nil {
			d.bad(n, "", "%v", err)
		}
	}
	for _, item := range n.Items {
		d.placeholders(item)
	}
	for _, e := range n.Entries {
		d.placeholders(e.Value)
	}
}

// placeholdersGone replaces placeholders by a valid name, so that the text can be validated before a site exists.
func placeholdersGone(text string) string {
	filled, err := placeholder.Values{placeholder.Namespace: "x"}.Fill(text)
	if err != nil {
		return text
	}
	return filled
}

// within follows the keys from node to node, and returns the last node that exists.
func within(n *strictyaml.Node, keys ...string) *strictyaml.Node {
	for _, key := range keys {
		next := n.Get(key)
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// placed returns the object for a site: placeholders are replaced by their values. A namespaced object gets a
// namespace.
func (o object) placed(values placeholder.Values, namespaced bool) (*unstructured.Unstructured, error) {
	filled, err := mapped(o.Object, func(text string) (any, error) { return values.Fill(text) })
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %s: %w", o.source, o.line, title(&o.Unstructured), err)
	}
	u := &unstructured.Unstructured{Object: filled.(map[string]any)}
	switch {
	case namespaced && u.GetNamespace() == "":
		u.SetNamespace(values[placeholder.Namespace])
	case !namespaced && u.GetNamespace() != "":
		return nil, fmt.Errorf("%s:%d: %s has a namespace, but its kind belongs to the whole cluster", o.source, o.line, title(&o.Unstructured))
	}
	return u, nil
}

// mapped copies a value, with each text in it replaced by the function replace. Keys stay unchanged.
func mapped(v any, replace func(text string) (any, error)) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if out[i], err = mapped(out[i], replace); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := maps.Clone(v)
		for key := range out {
			if out[key], err = mapped(out[key], replace); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
