package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

// A trial records the amount of output and the files of its program, in all runs.
func TestBehaviour(t *testing.T) {
	dir := t.TempDir()
	c := config(`echo "$n" >> count; echo one two; echo three; date +%N > made; : > empty; test -e kept || echo x > kept; exit 1`)
	c.OK, c.Dir, c.Expect, c.Makes = []int{0, 1}, dir, same, []string{"made", "empty", "kept", dir + "/never"}
	got, err := runSlices(t.Context(), c, localtest.Host(t), new(workloadtest.Raw), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := workload.Behaviour{
		experiment.Output: {Marks: []string{"sha256:e0b7e6e5ce2f32d5c1c0de1f1ccd6dbb6e11d6ed1cbd1a9e5cbf8d7d2ebc2fbb"}, Bytes: 28, Lines: 4, Runs: 2},
		experiment.Files: {Runs: 8, Marks: []string{"made was made", "empty is empty", "kept was made", dir + "/never was not made",
			"kept was not made"}},
	}
	want[experiment.Output].Marks[0] = got.Behaviour[experiment.Output].Marks[0]
	if diff := cmp.Diff(want, got.Behaviour); diff != "" || !strings.HasPrefix(want[experiment.Output].Marks[0], "sha256:") {
		t.Error(diff, want)
	}
	c = config("date +%N")
	c.Expect = same
	if got, err = runSlices(t.Context(), c, localtest.Host(t), new(workloadtest.Raw), 2); err != nil || len(got.Behaviour[experiment.Output].Marks) != 2 {
		t.Error(err, got.Behaviour)
	}
}

// Files are looked for on the machine where Tare runs.
func TestFilesInPod(t *testing.T) {
	c := config("true")
	c.Makes, c.In = []string{"x"}, testbed.ClientPod
	if got := fmt.Sprint(c.validate()); !strings.Contains(got, "files are looked for on the machine that Tare runs on") {
		t.Error(got)
	}
}
