package export

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/longcsv"
	"tare/internal/test/golden"
)

func TestCSV(t *testing.T) {
	text := written(t, "csv", fixture())
	golden.Check(t, "testdata/trials.csv", text)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	// 8 rounds of 3 arms with 2 metrics, less the 3 missing in round 3, and 1 metric;
	// and the 2 rows of an invalid attempt.
	if want := 1 + 8*3*3 - 3 + 2; len(records) != want {
		t.Errorf("%d lines, want %d", len(records), want)
	}
	for i, record := range records {
		for k, field := range record {
			number := slices.Contains([]string{"round", "attempt", "position", "session", "wall_seconds", "value"}, columns[k])
			if field != "" && strings.ContainsAny(field[:1], "=+-@\t\r") && !number {
				t.Errorf("line %d: a spreadsheet takes %q for a formula", i+1, field)
			}
		}
	}
}

// TestCSVImports reads the table back with the importer: the same valid trials
// with the same values, and an invalid attempt gone for the one after it.
func TestCSVImports(t *testing.T) {
	r := fixture()
	trials, err := longcsv.Format.Read(importer.File{Name: "trials.csv", Reader: strings.NewReader(written(t, "csv", r))})
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		arm, cell string
		round     int
	}
	got := map[key]map[string]float64{}
	for _, trial := range trials {
		if trial.Broken != "" {
			t.Errorf("%s: %s", trial.Arm, trial.Broken)
		}
		values := map[string]float64{}
		for _, v := range trial.Values {
			values[v.Metric.Name] = v.Value
		}
		got[key{trial.Arm, trial.Cell, trial.Round}] = values
	}
	for i := range r.Record.Trials {
		trial := &r.Record.Trials[i]
		cell := strings.Replace(trial.Cell, "-drops", "'-drops", 1)
		values := got[key{trial.Arm, cell, trial.Round}]
		if !trial.Valid() {
			continue
		}
		if len(values) != len(trial.Values) {
			t.Errorf("%s, round %d: %v is read for %v", trial.Arm, trial.Round, values, trial.Values)
		}
		for name, want := range trial.Values {
			if values[name] != want {
				t.Errorf("%s, round %d: %s is read as %v, want %v", trial.Arm, trial.Round, name, values[name], want)
			}
		}
	}
	if len(got) != 8*3*2 {
		t.Errorf("%d trials, want %d", len(got), 8*3*2)
	}
}

// TestCSVSamples checks that every row of independent samples says that they are
// such, and none of an experiment does; and that the importer understands.
func TestCSVSamples(t *testing.T) {
	for _, test := range []struct {
		run                   Run
		paired, observational string
	}{
		{fixture(), "true", ""},
		{samples(), "false", "when the arms ran is unknown, on systems or with settings that differ in kernel"},
	} {
		text := written(t, "csv", test.run)
		records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		paired, observational := slices.Index(columns, "paired"), slices.Index(columns, "observational")
		for i, record := range records[1:] {
			if record[paired] != test.paired || record[observational] != test.observational {
				t.Fatalf("row %d: paired %q, observational %q, want %q and %q", i+1, record[paired], record[observational], test.paired, test.observational)
			}
		}
		file := importer.File{Name: "trials.csv", Reader: strings.NewReader(text)}
		trials, err := longcsv.Format.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range trials {
			if trial.Unpaired != (test.paired == "false") {
				t.Errorf("round %d of %s is read as unpaired: %v", trial.Round, trial.Arm, trial.Unpaired)
			}
		}
	}
}
