package importer_test

import (
	"testing"
	"time"

	"tare/internal/importer"
)

// Readings that failed are counted. Their values are used only if no reading succeeded.
func TestReadings(t *testing.T) {
	o := importer.Options{Format: lines, Name: "test"}
	o.Format.Serial = true
	pairBy("index")(&o)
	at := 0
	each(&o, func(_ importer.File, trial *importer.Trial) {
		trial.Errors, trial.Wall = importer.ErrorRate{Known: true}, time.Second
		if at++; at == 3 {
			trial.Errors.Share = 1
		}
	})
	dir := write(t, map[string]string{"1.txt": "x s-mean 1\nx s-mean 2\nx s-mean 900\nx s-mean 4\ny s-mean 7\n"})
	o.Sources = []importer.Source{{Arm: "a", From: []string{dir + "/1.txt"}}}
	run := imported(t, o)
	if len(run.Trials) != 2 || run.Trials[0].Values["s-mean"] != 2 || run.Trials[0].Wall != 4*time.Second || run.Trials[1].Values["s-mean"] != 7 {
		t.Errorf("%+v", run.Trials)
	}
	if got := run.Plan.Import.Arms[0].Facts["readings"]; len(got) != 1 || got[0] != "4" {
		t.Errorf("the readings are %v", got)
	}
}
