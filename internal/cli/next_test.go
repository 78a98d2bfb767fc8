package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/run/runner"
	"tare/internal/workload"
)

// The advice after a run without a valid trial must help: waiting does not remove a CPU limit.
func TestAdviceAfterHopelessRun(t *testing.T) {
	j, err := journal.Create(filepath.Join(t.TempDir(), "run"), []byte("name: fake\n"), nil, &experiment.Plan{Schema: experiment.PlanSchema, Name: "fake"}, &machine.Environment{Schema: machine.EnvironmentSchema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	for _, c := range []struct {
		rule    string
		limited bool
		want    string
	}{
		{workload.RuleThrottled, true, "testbed.kubernetes.resources.cpu"},
		{workload.RuleThrottled, false, "the machine is too busy"},
		{workload.RuleForeignCPU, true, "the machine is too busy"},
		{workload.RuleProof, true, "tare doctor"},
		{workload.RuleForeignCPU, false, "design: {slices: auto}"},
	} {
		got := withNextStep(t.Context(), j, &runner.NoDataError{Last: journal.Violation{Rule: c.rule}, CPULimited: c.limited, Sliceable: true})
		var coded *codedError
		if !errors.As(got, &coded) || coded.code != ExitInvalid || !strings.Contains(coded.hint, c.want) {
			t.Errorf("%s, CPU limited %t: %+v, want the hint %q", c.rule, c.limited, got, c.want)
		}
	}
}
