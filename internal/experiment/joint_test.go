package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
)

// filter is a layer with factors of the same names as those of seccomp.
type filter struct {
	Rules factor.Levels[int]    `yaml:"rules" json:"rules" doc:"number of rules"`
	Late  factor.Levels[string] `yaml:"late" json:"late" doc:"where a rule ends"`
}

func (*filter) Declare() experiment.Declaration { return experiment.Declaration{} }

func loadJoint(arm string) (*experiment.Experiment, error) {
	k := kinds()
	k.Layers["filter"] = func() experiment.LayerConfig { return &filter{} }
	return experiment.Load("test.yaml", []byte(head+"arms: [name: plain, "+arm+"]\nworkloads: [network]\n"), k)
}

// TestJoint checks the arms of joint factors: each level once, and every combination with the other factors.
func TestJoint(t *testing.T) {
	for arm, want := range map[string][]string{
		"{name: all, joint: rules, layers: [seccomp: {rules: [1, 2, 4, 8]}, filter: {rules: [1, 2, 4, 8]}]}": {
			"all[rules=1] 1 1", "all[rules=2] 2 2", "all[rules=4] 4 4", "all[rules=8] 8 8"},
		"{name: all, joint: rules, layers: [seccomp: {rules: [1, 8]}, filter: {rules: [2, 9]}]}": {
			"all[rules=1] 1 2", "all[rules=8] 8 9"},
		"{name: all, joint: [rules], layers: [filter: {rules: [1, 8], late: [a, b]}, seccomp: {rules: [1, 8]}]}": {
			"all[rules=1,late=a] 1 1", "all[rules=1,late=b] 1 1", "all[rules=8,late=a] 8 8", "all[rules=8,late=b] 8 8"},
		"{name: all, layers: [seccomp: {rules: [1, 8]}, filter: {rules: [1, 8]}]}": {
			"all[seccomp.rules=1,filter.rules=1] 1 1", "all[seccomp.rules=1,filter.rules=8] 1 8",
			"all[seccomp.rules=8,filter.rules=1] 8 1", "all[seccomp.rules=8,filter.rules=8] 8 8"},
	} {
		x, err := loadJoint(arm)
		if err != nil {
			t.Errorf("%s: %v", arm, err)
			continue
		}
		var got []string
		for _, a := range expand(t, x).Plan.Arms[2:] {
			row := a.Name
			for _, l := range a.Layers {
				row += " " + fmt.Sprint(l.Config.(map[string]any)["rules"])
			}
			got = append(got, row)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arm, diff)
		}
	}
}

func TestJointRefused(t *testing.T) {
	for arm, want := range map[string]string{
		"{name: all, joint: rules, layers: [seccomp: {rules: [1, 8]}, filter: {rules: [1, 4, 8]}]}": "test.yaml:4:40: rules has 2 levels in the layer seccomp, and 3 in the layer filter",
		"{name: all, joint: rules, layers: [seccomp: {rules: [1, 8]}, filter: {rules: 8}]}":         "test.yaml:4:40: 1 layer of arm all with several levels of rules; expected at least two",
		"{name: all, joint: reins, layers: [seccomp: {rules: [1, 8]}]}":                             "test.yaml:4:40: 0 layers of arm all with several levels of reins; expected at least two",
	} {
		if _, err := loadJoint(arm); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", arm, err, want)
		}
	}
}
