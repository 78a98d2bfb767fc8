package catalog_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/examples"
	"tare/internal/catalog"
	"tare/internal/experiment"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestDocumentedExamples loads and expands every YAML block of the pages that document the experiment file. A
// block that shows a part of a file is completed.
func TestDocumentedExamples(t *testing.T) {
	schema := published(t)
	for _, name := range []string{"experiment.md", "cluster-layers.md", "startup.md", "compute.md", "dns.md", "xds.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := yamlBlock.FindAllSubmatchIndex(page, -1)
		if len(blocks) == 0 {
			t.Fatalf("%s has no examples", name)
		}
		for _, b := range blocks {
			line := 1 + strings.Count(string(page[:b[2]]), "\n")
			works(t, fmt.Sprintf("docs/%s:%d", name, line), completed(string(page[b[2]:b[3]])), schema)
		}
	}
}

// TestExamples loads and expands the experiments shipped with Tare.
func TestExamples(t *testing.T) {
	schema := published(t)
	for _, name := range exampleNames(t) {
		text, err := examples.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		works(t, exampleFile(name), string(text), schema)
	}
}

// works checks that the loader and the schema accept an experiment, and that it can be expanded.
func works(t *testing.T, where, text string, schema *jsonschema.Schema) {
	t.Helper()
	x, err := experiment.Load(where, []byte(text), catalog.Kinds())
	if err != nil {
		t.Errorf("%s does not load:\n%v", where, err)
		return
	}
	if _, err := experiment.Expand(x, "test"); err != nil {
		t.Errorf("%s does not expand: %v", where, err)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Errorf("%s: the schema refuses it: %v", where, err)
	}
}

// published compiles the published schema.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// completed adds the required fields that a part of a file lacks.
func completed(part string) string {
	for _, field := range []struct{ key, text string }{
		{"apiVersion", "apiVersion: tare/v1alpha1\n"},
		{"kind", "kind: Experiment\n"},
		{"name", "name: example\n"},
		{"arms", "arms: [name: plain]\n"},
		{"workloads", "workloads: [network]\n"},
	} {
		if !regexp.MustCompile(`(?m)^` + field.key + `:`).MatchString(part) {
			part = field.text + part
		}
	}
	return part
}
