package importer_test

import (
	"fmt"
	"math"
	"testing"

	"tare/internal/importer"
)

// An unusable value of an exploratory metric is left out of its trial. An unusable value of a headline makes
// the trial invalid.
func TestLeftOut(t *testing.T) {
	const why = "values that are zero, negative or not finite have no ratio; scale=difference suits metrics that may be zero"
	headline := func(names ...string) func(*importer.Options) {
		return func(o *importer.Options) { o.Headline = names }
	}
	// All values of a file are one trial.
	together := func(o *importer.Options) {
		read := o.Format.Read
		o.Format.Read = func(f importer.File) ([]importer.Trial, error) {
			trials, err := read(f)
			if err != nil {
				return nil, err
			}
			all := trials[len(trials)-1]
			all.Values = nil
			for _, t := range trials {
				all.Values = append(all.Values, t.Values...)
			}
			return []importer.Trial{all}, nil
		}
	}
	files := map[string]string{
		"a/1.txt": "x s-mean 1\nx n-timeouts 0\n", "a/2.txt": "x s-mean 2\nx n-timeouts 3\nx s-min -1\n",
		"a/3.txt": fmt.Sprintf("x s-mean 3\nx n-timeouts %v\nx s-min 1\n", math.NaN()),
	}
	for name, i := range map[string]importing{
		"exploratory": {files: files, trials: "1 a x s-mean=1\n2 a x n-timeouts=3 s-mean=2\n3 a x s-mean=3 s-min=1",
			notes: []string{"2 values of n-timeouts left out, the first in a/1.txt: " + why, "1 value of s-min left out, the first in a/2.txt: " + why}},
		"chosen": {files: files, options: headline("n-timeouts"),
			trials: "1 a x n-timeouts=0 s-mean=1 import!\n2 a x n-timeouts=3 s-mean=2\n3 a x s-mean=3 s-min=1 import!",
			notes:  []string{"1 value of s-min left out, the first in a/2.txt: " + why}},
		"chosen in the cell": {files: files, options: headline("x:n-timeouts"),
			trials: "1 a x n-timeouts=0 s-mean=1 import!\n2 a x n-timeouts=3 s-mean=2\n3 a x s-mean=3 s-min=1 import!",
			notes:  []string{"1 value of s-min left out, the first in a/2.txt: " + why}},
		"headline of the format": {files: map[string]string{"a/1.txt": "x s-mean 0\nx s-min 1\n", "a/2.txt": "x s-mean 1\n"},
			trials: "1 a x s-mean=0 s-min=1 import!\n2 a x s-mean=1"},
		"not chosen": {files: map[string]string{"a/1.txt": "x s-mean 0\nx s-min 1\n"}, options: headline("s-min"),
			trials: "1 a x s-min=1", notes: []string{"1 value of s-mean left out, the first in a/1.txt: " + why}},
		"nothing left": {files: map[string]string{"a/1.txt": "x s-min 0\n", "a/2.txt": "x s-mean 1\n"},
			trials: "1 a x import!\n2 a x s-mean=1", notes: []string{"1 value of s-min left out, the first in a/1.txt: " + why}},
		"two values of which one is useless": {files: map[string]string{"a/1.txt": "x s-min 0\nx s-min 1\n", "a/2.txt": "x s-mean 1\n"},
			trials: "1 a x import!\n2 a x s-mean=1", notes: []string{"1 value of s-min left out, the first in a/1.txt: " + why}},
	} {
		options := i.options
		i.arms = []string{"a=a"}
		i.options = func(o *importer.Options) {
			together(o)
			if options != nil {
				options(o)
			}
		}
		t.Run(name, i.run)
	}
}

// A metric with values left out is optional. A metric without any value is not in the plan.
func TestLeftOutPlan(t *testing.T) {
	dir := write(t, map[string]string{"1.txt": "x s-min 0\nx s-p50 0\nx s-p50 1\nx s-mean 1\n"})
	o := importer.Options{Format: lines, Name: "test", Sources: []importer.Source{{Arm: "a", From: []string{dir}}}}
	run := imported(t, o)
	got := ""
	for _, m := range run.Plan.Cells[0].Metrics {
		got += fmt.Sprint(m.Name, " ", m.Optional, "; ")
	}
	if want := "s-p50 true; s-mean true; "; got != want {
		t.Errorf("the metrics are %s, want %s", got, want)
	}
}
