package experiment_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
)

// With arms in turn, no trial is cut into slices, whatever auto would choose.
func TestSlicesInTurn(t *testing.T) {
	for slices, want := range map[string]string{
		"none, setups: every-trial": "",
		"auto, setups: every-trial": "",
		"4, setups: every-trial":    "6:30: trials cannot be cut into slices: arms alternate by slices, and with setups: every-trial only one arm is up at a time",
	} {
		e, err := loadSliced(slices, `{command: {run: ["true"]}}`, "seccomp")
		switch {
		case want == "" && (err != nil || e.Plan.Cells[0].Slices != 0 || !e.Plan.InTurn() || e.Plan.SetUps.String() != "every-trial"):
			t.Errorf("slices: %s: %v", slices, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("slices: %s: %v, want %s", slices, err, want)
		}
	}
}

// The duration of a run with arms in turn includes the assumed time of setting up.
func TestDurationInTurn(t *testing.T) {
	p := experiment.Plan{Testbed: experiment.TestbedKubernetes, Arms: make([]experiment.PlannedArm, 3), Cells: []experiment.Cell{{Expected: time.Second}}}
	without := p.Duration(2)
	p.SetUps = experiment.SetUpsEveryTrial
	if got := p.Duration(2) - without; p.SetUpPerTrial() != 10*time.Second || got != 6*p.SetUpPerTrial() {
		t.Errorf("setting up takes %v in 6 trials, %v in each", got, p.SetUpPerTrial())
	}
	p.Testbed = experiment.TestbedLocal
	if got := p.SetUpPerTrial(); got != 200*time.Millisecond {
		t.Errorf("on this machine %v", got)
	}
}
