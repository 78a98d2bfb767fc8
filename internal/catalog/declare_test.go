package catalog

import (
	"reflect"
	"testing"

	"tare/internal/experiment"
)

// TestDeclareBeforeValidation calls Declare of layers and workloads that were not validated, with default
// parameters and with zero values.
func TestDeclareBeforeValidation(t *testing.T) {
	declared := func(name string, config interface{ Declare() experiment.Declaration }) {
		d := config.Declare()
		if d.Rights != nil {
			d.Rights("")
		}
		if d.Needs.Only != "" && d.Needs.Only != experiment.TestbedLocal && d.Needs.Only != experiment.TestbedKubernetes {
			t.Errorf("%s needs the testbed %q", name, d.Needs.Only)
		}
	}
	for _, k := range Layers {
		declared(k.Name, k.New())
		declared(k.Name, reflect.New(reflect.TypeOf(k.New()).Elem()).Interface().(experiment.LayerConfig))
	}
	for _, k := range Workloads {
		declared(k.Name, k.New())
		declared(k.Name, reflect.New(reflect.TypeOf(k.New()).Elem()).Interface().(experiment.WorkloadConfig))
	}
}

// TestNames checks that the names of kinds are unique. Of two kinds with one name, a file would get the last.
func TestNames(t *testing.T) {
	var layers, workloads, formats []string
	for _, k := range Layers {
		layers = append(layers, k.Name)
	}
	for _, k := range Workloads {
		workloads = append(workloads, k.Name)
	}
	for _, f := range Formats {
		formats = append(formats, f.Name)
	}
	for _, names := range [][]string{layers, workloads, formats} {
		seen := map[string]bool{}
		for _, name := range names {
			if seen[name] {
				t.Errorf("two are called %q", name)
			}
			seen[name] = true
		}
	}
}
