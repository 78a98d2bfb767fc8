// Package draft writes experiment files. The file line.go makes one from a command line. The file start.go makes one
// for a user to start from.
package draft

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"tare/internal/experiment/strictyaml"
)

// Part is the layer or the workload of a first experiment.
type Part struct {
	Name    string
	Summary string
	Example string // the required parameters in the form of a file: "run: [nice]"; "" if there are none
	Config  any    // a pointer to the part's parameters with their defaults
}

// Start returns a first experiment file for a user. It has one layer and one workload, and all their parameters as
// comments.
func Start(layer, workload Part, testbed string) []byte {
	var b strings.Builder
	name := clip(layer.Name+"-"+workload.Name, 63)
	fmt.Fprintf(&b, `# What does %[1]s cost?
#
#   tare plan %[2]s.yaml      what would be done, and how long it takes
#   tare doctor %[2]s.yaml    what of it works here
#   tare run %[2]s.yaml       does it
apiVersion: tare/v1alpha1
kind: Experiment
name: %[2]s
description: What does %[1]s cost?

testbed: %[3]s

arms: # the first is the baseline; Tare adds its A/A control
  - name: plain
  - name: %[1]s
    layers: # from the inside out
`, layer.Name, name, testbed)
	layer.write(&b, "      ")
	b.WriteString("\nworkloads:\n")
	workload.write(&b, "  ")
	b.WriteString(`
design:
  rounds: {atMost: 20} # each runs every arm once, in random order; 6 are the fewest for an exact interval
  stop: decided # when every headline comparison is, at one of the planned looks
  equivalence: 2% # arms that differ by less count as equal
  # confidence: 95%
  # slices: auto # cut trials where they can be cut, so that arms alternate: for busy machines

# budget: {METRIC: 10%} # what tare gate allows at most
`)
	return []byte(b.String())
}

func (p Part) write(b *strings.Builder, indent string) {
	below := indent + "    "
	fmt.Fprintf(b, "%s# %s\n", indent, p.Summary)
	if p.Example == "" {
		fmt.Fprintf(b, "%s- %s: {}\n%s# in place of {}:\n", indent, p.Name, below)
	} else {
		fmt.Fprintf(b, "%s- %s:\n", indent, p.Name)
		for line := range strings.Lines(strings.TrimSpace(p.Example)) {
			fmt.Fprintf(b, "%s%s\n", below, strings.TrimRight(line, "\n"))
		}
	}
	defaults, _ := strictyaml.Plain(p.Config).(map[string]any)
	for _, f := range strictyaml.Fields(reflect.TypeOf(p.Config).Elem()) {
		if strings.HasPrefix(p.Example, f.Name+":") || strings.Contains(p.Example, "\n"+f.Name+":") {
			continue
		}
		value := ""
		if text, err := json.Marshal(defaults[f.Name]); err == nil && defaults[f.Name] != nil {
			value = " " + strings.Trim(string(text), `"`)
		}
		fmt.Fprintf(b, "%s# %s:%s # %s\n", below, f.Name, value, f.Doc)
	}
}
