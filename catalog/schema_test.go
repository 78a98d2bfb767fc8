package catalog_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/catalog"
	"tare/experiment"
)

var update = flag.Bool("update", false, "write the golden files")

// TestSchema holds the published schema against the types.
func TestSchema(t *testing.T) {
	got, err := experiment.JSONSchema(catalog.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	const golden = "../docs/experiment.schema.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the types have changed; go test ./catalog -run Schema -update writes the schema anew (-published +types):\n%s", diff)
	}
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestDocumentedExamples loads and expands every YAML block of the page that
// explains the file. A block that shows only a part of a file is completed.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/experiment.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllSubmatchIndex(page, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no examples")
	}
	for _, b := range blocks {
		line := 1 + strings.Count(string(page[:b[2]]), "\n")
		x, err := experiment.Load("example", []byte(completed(string(page[b[2]:b[3]]))), catalog.Kinds())
		if err != nil {
			t.Errorf("docs/experiment.md:%d: the example does not load:\n%v", line, err)
			continue
		}
		if _, err := experiment.Expand(x, "test"); err != nil {
			t.Errorf("docs/experiment.md:%d: the example does not expand: %v", line, err)
		}
	}
}

// completed adds what a part of a file lacks to be a whole one.
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
