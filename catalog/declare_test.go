package catalog

import (
	"reflect"
	"testing"

	"tare/experiment"
)

// TestDeclareBeforeValidation has layers and workloads declare themselves as they are
// before anything was validated: with their defaults, and with nothing at all.
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
