package experiment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
)

// toggled is a layer that is turned on and off for all arms.
type toggled struct{}

func (*toggled) Declare() experiment.Declaration { return experiment.Declaration{Switches: true} }

// loadSliced loads a file with these slices, workloads and layer of the second arm.
func loadSliced(slices, workloads, layer string) (*experiment.Expansion, error) {
	k := kinds()
	k.Layers["switch"] = func() experiment.LayerConfig { return &toggled{} }
	x, err := experiment.Load("test.yaml", fmt.Appendf(nil, `apiVersion: tare/v1alpha1
kind: Experiment
name: cut
arms: [{name: plain}, {name: on, layers: [%s]}]
workloads: [%s]
design: {rounds: 10, slices: %s}
`, layer, workloads, slices), k)
	if err != nil {
		return nil, err
	}
	return experiment.Expand(x, "")
}

func TestSlices(t *testing.T) {
	const command, network = `command: {run: ["true"]}`, `network`
	for _, c := range []struct {
		slices, workloads, layer string
		want                     []int         // the number of slices, by cell
		expected                 time.Duration // the duration of a trial of the first cell
		err                      string        // a part of the error
	}{
		{"none", "{" + command + "}", "seccomp", []int{0}, time.Second, ""},
		{"8", "{" + command + "}", "seccomp", []int{8}, 8 * time.Second, ""},
		{"100", "{" + command + "}", "seccomp", []int{100}, 100 * time.Second, ""},
		{"auto", "{" + command + "}, network", "seccomp", []int{2, 0}, 2 * time.Second, ""},
		{"auto", "{" + command + "}", "switch", []int{0}, time.Second, ""},
		{"3", "{" + command + "}", "seccomp", nil, 0, `slices is 3; expected none, auto, or an even number from 2 to 100`},
		{"102", "{" + command + "}", "seccomp", nil, 0, `slices is 102; expected none, auto, or an even number from 2 to 100`},
		{"half", "{" + command + "}", "seccomp", nil, 0, `slices is "half"; expected none, auto`},
		{"8", "{" + command + "}, network", "seccomp", nil, 0, "6:30: trials of the workload network cannot be cut into slices"},
		{"8", "{" + command + "}", "switch", nil, 0, "6:30: trials cannot be cut into slices: the layer switch of arm on is turned on and off for all arms between trials"},
	} {
		e, err := loadSliced(c.slices, c.workloads, c.layer)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("slices %s of %s with %s: %v, want %s", c.slices, c.workloads, c.layer, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("slices %s of %s with %s: %v", c.slices, c.workloads, c.layer, err)
			continue
		}
		var got []int
		for _, cell := range e.Plan.Cells {
			got = append(got, cell.Slices)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) || e.Plan.Cells[0].Expected != c.expected || e.Plan.Slices.String() != c.slices {
			t.Errorf("slices %s of %s with %s: %v slices, %v a trial, recorded %v; want %v, %v", c.slices, c.workloads, c.layer,
				got, e.Plan.Cells[0].Expected, e.Plan.Slices, c.want, c.expected)
		}
	}
}

// Slices with their own time lengthen a trial. Slices that share the time of a whole trial do not.
func TestCut(t *testing.T) {
	m := experiment.Measures{Expected: time.Second, Limit: time.Minute, Slice: &experiment.Slice{Expected: time.Second, Limit: time.Minute}}
	if got := m.Cut(4); got.Expected != 4*time.Second || got.Bound() != 4*time.Minute {
		t.Errorf("four runs: %v expected, limit %v", got.Expected, got.Bound())
	}
	m = experiment.Measures{Expected: 10 * time.Second, Slice: &experiment.Slice{}}
	if got := m.Cut(4); got.Expected != m.Expected || got.Bound() != m.Bound() {
		t.Errorf("shared time: %v expected, limit %v", got.Expected, got.Bound())
	}
	if got := m.Cut(0); got.Bound() != m.Bound() {
		t.Errorf("a whole trial: limit %v", got.Bound())
	}
}
