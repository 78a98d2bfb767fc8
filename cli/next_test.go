package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tare/experiment"
	"tare/journal"
	"tare/machine"
	"tare/runner"
	"tare/workload"
)

// A run without a valid trial ends with the advice that helps: nobody waits for a
// CPU limit to go away.
func TestAdviceAfterHopelessRun(t *testing.T) {
	j, err := journal.Create(filepath.Join(t.TempDir(), "run"), []byte("name: fake\n"), &experiment.Plan{Schema: experiment.PlanSchema, Name: "fake"}, &machine.Environment{Schema: machine.EnvironmentSchema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	for _, c := range []struct{ rule, testbed, want string }{
		{workload.RuleThrottled, experiment.TestbedKubernetes, "testbed.kubernetes.resources.cpu"},
		{workload.RuleThrottled, "local", "the machine is too busy"},
		{workload.RuleForeignCPU, experiment.TestbedKubernetes, "the machine is too busy"},
		{workload.RuleProof, experiment.TestbedKubernetes, "tare doctor"},
	} {
		got := whatNext(t.Context(), j, &runner.HopelessError{Last: journal.Violation{Rule: c.rule}, Testbed: c.testbed})
		var coded *codedError
		if !errors.As(got, &coded) || coded.code != ExitInvalid || !strings.Contains(coded.hint, c.want) {
			t.Errorf("%s on %s: %+v, want the hint %q", c.rule, c.testbed, got, c.want)
		}
	}
}
