package experiment_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tare/internal/catalog"
	"tare/internal/experiment"
	"tare/internal/test/golden"
)

// TestSchema compares the published schema with the types.
func TestSchema(t *testing.T) {
	got, err := experiment.JSONSchema(catalog.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../docs/experiment.schema.json", got)
}

// compiled compiles the schema of the test's kinds, which also checks it against the draft's own schema.
func compiled(t *testing.T, kinds experiment.Kinds) *jsonschema.Schema {
	t.Helper()
	text, err := experiment.JSONSchema(kinds)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("experiment.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("experiment.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// check validates a YAML document against the schema.
func check(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s\nis not YAML: %v", text, err)
	}
	asJSON, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(instance)
}

const (
	armsAndWork = "arms: [name: plain]\nworkloads: [network]\n"
	least       = head + armsAndWork
)

// TestSchemaAgrees checks that the schema and the loader accept and refuse the same documents. A document that
// only the loader can refuse is marked.
func TestSchemaAgrees(t *testing.T) {
	const (
		good       = "both accept"
		bad        = "both refuse"
		loaderOnly = "only the loader refuses"
	)
	schema := compiled(t, kinds())
	for _, c := range []struct{ name, want, text string }{
		{"least", good, least},
		{"testbed by name", good, least + "testbed: local\n"},
		{"testbed left empty", good, least + "testbed: {local: }\n"},
		{"testbed with link", good, least + "testbed: {local: {link: {rate: [1.25Gbit, unlimited], mtu: 8896}}}\n"},
		{"empty parts", good, least + "design:\nlimits:\n"},
		{"limits", good, least + "limits: {errors: 1%, foreignCPU: none, throttling: none, cpuPressure: 12.5 %}\n"},
		{"design", good, least + "design: {rounds: 6, confidence: 99%, equivalence: 1%, power: 90%, seed: 18446744073709551615, attempts: 1}\n"},
		{"budget", good, least + "budget: {tcp-bandwidth: 10%}\n"},
		{"budget as an amount", good, least + "budget: {tcp-bandwidth: 200Mbit/s}\n"},
		{"budget of an arm", good, head + "workloads: [network]\narms:\n- name: plain\n- {name: a, layers: [wireguard], budget: {tcp-bandwidth: 8%}}\n"},
		{"description like a number", good, least + "description: 12\n"},
		{"layers in every form", good, head + "workloads: [network]\narms:\n- name: plain\n- name: a\n  layers: [wireguard]\n- name: b\n  layers: [{wireguard: }, env: {set: {A: 1, B: x, C: true}}]\n- name: c\n  layers: [seccomp: {rules: [2, 3], action: errno}]\n"},
		{"workloads in every form", good, head + "arms: [name: plain]\nworkloads:\n- network\n- {name: two, network: }\n- {name: three, network: {streams: 4, reverse: true}}\n- command: {run: [date, 1], metrics: [{name: x, regex: y, scale: 0.5}]}\n"},

		{"published", good, least + "published: [{source: a, revision: 12, rows: [{arm: plain, metric: tcp-bandwidth, value: 9.40Gbit/s}, {arm: plain, metric: tcp-bandwidth, label: b, value: [1Gbit, 2Gbit], about: true}]}]\n"},

		{"published without rows", bad, least + "published: [{source: a}]\n"},
		{"published at no address", bad, least + "published: [{source: a, url: b, rows: []}]\n"},
		{"missing fields", bad, "name: x\n"},
		{"wrong version", bad, strings.Replace(least, "v1alpha1", "v9", 1)},
		{"wrong kind", bad, strings.Replace(least, "Experiment", "Deployment", 1)},
		{"unknown field", bad, least + "desing: {}\n"},
		{"unknown nested field", bad, least + "design: {round: 5}\n"},
		{"unknown testbed", bad, least + "testbed: cluster\n"},
		{"empty testbed", bad, least + "testbed: {}\n"},
		{"testbed without value", bad, least + "testbed:\n"},
		{"name with capitals", bad, strings.Replace(least, "name: x", "name: X", 1)},
		{"name like a number", bad, strings.Replace(least, "name: x", "name: 12", 1)},
		{"arm without name", bad, head + "arms: [layers: []]\nworkloads: [network]\n"},
		{"arms as text", bad, head + "arms: plain\nworkloads: [network]\n"},
		{"arms without value", bad, head + "arms:\nworkloads: [network]\n"},
		{"layers without value", bad, head + "arms: [{name: plain, layers: }]\nworkloads: [network]\n"},
		{"unknown layer", bad, head + "arms: [{name: plain, layers: [wiregaurd]}]\nworkloads: [network]\n"},
		{"two layers in an item", bad, head + "arms: [{name: plain, layers: [{wireguard: , seccomp: }]}]\nworkloads: [network]\n"},
		{"layer that needs parameters, by name", bad, head + "arms: [{name: plain, layers: [env]}]\nworkloads: [network]\n"},
		{"layer that needs parameters, empty", bad, head + "arms: [{name: plain, layers: [{env: }]}]\nworkloads: [network]\n"},
		{"enumeration", bad, head + "arms: [{name: plain, layers: [wireguard: {implementation: fast}]}]\nworkloads: [network]\n"},
		{"workload as map", bad, head + "arms: [name: plain]\nworkloads: {network: {}}\n"},
		{"workload with bad name", bad, head + "arms: [name: plain]\nworkloads: [{name: A B, network: }]\n"},
		{"workload with only a name", bad, head + "arms: [name: plain]\nworkloads: [{name: a}]\n"},
		{"number in quotes", bad, head + "arms: [name: plain]\nworkloads: [network: {streams: '4'}]\n"},
		{"number below its least", bad, head + "arms: [name: plain]\nworkloads: [network: {streams: [1, 0]}]\n"},
		{"fraction for a whole number", bad, least + "design: {rounds: 6.5}\n"},
		{"negative seed", bad, least + "design: {seed: -1}\n"},
		{"empty levels", bad, head + "arms: [name: plain]\nworkloads: [network: {streams: []}]\n"},
		{"levels twice", bad, head + "arms: [name: plain]\nworkloads: [network: {streams: [1, 1]}]\n"},
		{"duration without unit", bad, head + "arms: [name: plain]\nworkloads: [network: {duration: 3}]\n"},
		{"rate in bytes", bad, least + "testbed: {local: {link: {rate: 1GB}}}\n"},
		{"negative budget", bad, least + "budget: {tcp-bandwidth: -1}\n"},
		{"budget as a list", bad, least + "budget: {tcp-bandwidth: [1%]}\n"},
		{"budget as a bool", bad, least + "budget: {tcp-bandwidth: true}\n"},
		{"percent without sign", bad, least + "limits: {errors: 1}\n"},
		{"limit off in other words", bad, least + "limits: {errors: off}\n"},
		{"none where it means nothing", bad, least + "design: {equivalence: none}\n"},
		{"bool as text", bad, head + "arms: [name: plain]\nworkloads: [network: {reverse: yes}]\n"},
		{"list for text", bad, least + "description: [a]\n"},
		{"mtu too large", bad, least + "testbed: {local: {link: {mtu: 70000}}}\n"},
		{"a list", bad, "- a\n"},
		{"a text", bad, "a\n"},

		{"same level in two words", loaderOnly, least + "testbed: {local: {link: {rate: [1Gbit, 1000Mbit]}}}\n"},
		{"no arms", loaderOnly, head + "arms: []\nworkloads: [network]\n"},
		{"no workloads", loaderOnly, head + "arms: [name: plain]\nworkloads: []\n"},
		{"reserved name", loaderOnly, head + "arms: [name: plain, name: control]\nworkloads: [network]\n"},
		{"arms alike", loaderOnly, head + "arms: [name: plain, name: same]\nworkloads: [network]\n"},
		{"budget in another unit", loaderOnly, least + "budget: {tcp-bandwidth: 1ms}\n"},
		{"published of no arm", loaderOnly, least + "published: [{source: a, rows: [{arm: other, metric: tcp-bandwidth, value: 1Gbit}]}]\n"},
		{"budget of the baseline", loaderOnly, head + "workloads: [network]\narms: [{name: plain, budget: {tcp-bandwidth: 8%}}]\n"},
		{"unknown metric", loaderOnly, least + "budget: {speed: 1%}\n"},
		{"rounds and precision", loaderOnly, least + "design: {rounds: 6, precision: 1%}\n"},
		{"percentage out of bounds", loaderOnly, least + "design: {confidence: 100%}\n"},
		{"config's own check", loaderOnly, head + "arms: [name: plain]\nworkloads: [command: {run: []}]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, loaded := experiment.Load("test.yaml", []byte(c.text), kinds())
			checked := check(t, schema, c.text)
			got := bad
			switch {
			case loaded == nil && checked == nil:
				got = good
			case loaded != nil && checked == nil:
				got = loaderOnly
			case loaded == nil:
				got = "only the schema refuses"
			}
			if got != c.want {
				t.Errorf("%s; want: %s\n%s\nloader: %v\nschema: %v", got, c.want, c.text, loaded, checked)
			}
		})
	}
}

// TestSchemaOfEmptyCatalog checks that the schema is valid without any kinds.
func TestSchemaOfEmptyCatalog(t *testing.T) {
	if err := check(t, compiled(t, experiment.Kinds{}), least); err == nil {
		t.Error("a workload that is not in the catalog is accepted")
	}
}

// TestSchemaDescribes checks that descriptions, defaults and the order of the fields are in the schema.
func TestSchemaDescribes(t *testing.T) {
	text, err := experiment.JSONSchema(kinds())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		`"apiVersion": {`, `"description": "version of this format: tare/v1alpha1"`,
		`"testbed": {`, `"description": "the rate that each direction is shaped to; if absent, unlimited for workloads that measure a server (http, xds, dns, vault), and 1Gbit for others (a rate such as 1Gbit, 12.5Mbit or unlimited)"`,
		`"default": 1500`,
		`"design": {`, `"default": 12`, `"confidence": {`, `"default": "95%"`,
		`"limits": {`, `"default": "0%"`, `"cpuPressure": {`, `"default": "none"`,
		`"layer-wireguard": {`, `"default": "auto"`,
		`"workload-network": {`, `"default": "tcp"`, `"default": "3s"`,
	} {
		i := strings.Index(string(text[at:]), want)
		if i < 0 {
			t.Fatalf("after %q there is no %s", text[:at], want)
		}
		at += i + len(want)
	}
}
