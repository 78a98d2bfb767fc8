package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/catalog"
	"tare/internal/experiment"
)

// crdsVariable names a directory with the published CustomResourceDefinitions of products whose licences or
// sources keep these out of this repository.
const crdsVariable = "TARE_TEST_CRDS"

// TestManifests validates every object that the examples apply against the schema published by its maker.
// Unknown fields are errors, since a cluster would drop them silently.
func TestManifests(t *testing.T) {
	schemas := definitions(t, "kubernetes/crds")
	if dir := os.Getenv(crdsVariable); dir != "" {
		for kind, schema := range definitions(t, dir) {
			schemas[kind] = schema
		}
	}
	validated := 0
	for _, o := range applied(t) {
		kind := o.object.GetAPIVersion() + " " + o.object.GetKind()
		schema := schemas[kind]
		if schema == nil {
			t.Logf("%s: no schema of %s here: %s names a directory with more", o.file, kind, crdsVariable)
			continue
		}
		validated++
		if err := schema.Validate(instance(t, o.object.Object)); err != nil {
			t.Errorf("%s: %s %s: %v", o.file, kind, o.object.GetName(), err)
		}
	}
	if validated == 0 {
		t.Error("no object was validated")
	}
}

// The validation itself must refuse the objects and fields that a cluster refuses or drops.
func TestSchemasRefuse(t *testing.T) {
	schema := definitions(t, "kubernetes/crds")["security.istio.io/v1 PeerAuthentication"]
	if schema == nil {
		t.Fatal("no schema")
	}
	for spec, want := range map[string]bool{
		`{"mtls": {"mode": "STRICT"}}`:   true,
		`{"mtls": {"mode": "STRICTLY"}}`: false,
		`{"mtls": {"modus": "STRICT"}}`:  false,
		`{"tls": {}}`:                    false,
		`"STRICT"`:                       false,
	} {
		var value any
		if err := json.Unmarshal([]byte(spec), &value); err != nil {
			t.Fatal(err)
		}
		err := schema.Validate(instance(t, map[string]any{"apiVersion": "security.istio.io/v1", "kind": "PeerAuthentication", "metadata": map[string]any{"name": "a"}, "spec": value}))
		if (err == nil) != want {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// from is an object with the example that applies it.
type from struct {
	file   string
	object *unstructured.Unstructured
}

// applied returns the objects in the layers manifests of all examples.
func applied(t *testing.T) []from {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var all []from
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x, err := experiment.Load(file, text, catalog.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		for _, arm := range x.Arms {
			for _, l := range arm.Layers {
				config, ok := l.Config.(interface {
					Objects() ([]*unstructured.Unstructured, error)
				})
				if !ok {
					continue
				}
				objects, err := config.Objects()
				if err != nil {
					t.Fatalf("%s: arm %s: %v", file, arm.Name, err)
				}
				for _, o := range objects {
					all = append(all, from{file, o})
				}
			}
		}
	}
	return all
}

// definitions compiles the schemas of a directory of CustomResourceDefinitions, by apiVersion and kind.
func definitions(t *testing.T, dir string) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions in %s: %v", dir, err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema map[string]any `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, v := range crd.Spec.Versions {
			kind := crd.Spec.Group + "/" + v.Name + " " + crd.Spec.Names.Kind
			closed(v.Schema.OpenAPIV3Schema)
			schemas[kind] = compiled(t, kind, v.Schema.OpenAPIV3Schema)
		}
	}
	return schemas
}

// closed makes a structural schema refuse the fields that a cluster drops.
func closed(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	_, more := schema["additionalProperties"]
	if kept, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool); properties != nil && !more && !kept {
		schema["additionalProperties"] = false
	}
	for name, each := range properties {
		if sub, ok := each.(map[string]any); ok {
			closed(sub)
			properties[name] = sub
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if sub, ok := schema[key].(map[string]any); ok {
			closed(sub)
		}
	}
}

func compiled(t *testing.T, name string, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	if properties, ok := schema["properties"].(map[string]any); ok {
		for _, always := range []string{"apiVersion", "kind", "metadata"} {
			if properties[always] == nil {
				properties[always] = map[string]any{} // every object has these fields
			}
		}
	}
	c := jsonschema.NewCompiler()
	at := fmt.Sprintf("file:///%s.json", strings.NewReplacer("/", "-", " ", "-").Replace(name))
	if err := c.AddResource(at, instance(t, schema)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := c.Compile(at)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// instance converts a value to the form that package jsonschema needs.
func instance(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
