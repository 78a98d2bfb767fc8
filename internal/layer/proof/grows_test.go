package proof

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/layertest"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
)

const opened = `^opened\{tls="true"\} (\d+)$`

// A counter proves nothing about a trial unless it grew during the trial.
func TestGrows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "metrics")
	say := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &config{Checks: []Item{{Name: "TLS", In: testbed.Host, Run: []string{"cat", file}, Grows: opened}}}
	if errs := c.validate(); errs != nil {
		t.Fatal(errs)
	}
	site := localtest.Host(t)
	for _, test := range []struct {
		name, before, after, observed string
		ok                            bool
	}{
		{"the first ones", "", "opened{tls=\"true\"} 2\n", "no such number, then 2", true},
		{"more", "opened{tls=\"true\"} 2\n", "opened{tls=\"true\"} 3\n", "2, then 3", true},
		{"several series", "opened{tls=\"true\"} 2\n", "opened{tls=\"true\"} 2\nopened{tls=\"true\"} 1\n", "2, then 3", true},
		{"none in this trial", "opened{tls=\"true\"} 3\n", "opened{tls=\"true\"} 3\n", "3, then 3", false},
		{"in clear", "opened{tls=\"true\"} 3\nopened{tls=\"false\"} 1\n", "opened{tls=\"true\"} 3\nopened{tls=\"false\"} 5\n", "3, then 3", false},
		{"begun again", "opened{tls=\"true\"} 3\n", "opened{tls=\"true\"} 1\n", "3, then 1", false},
		{"gone", "opened{tls=\"true\"} 3\n", "", "3, then no such number", false},
		{"never there", "", "", "no such number, then no such number", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			up := layertest.Up(t, c, site)
			say(test.before)
			compare(t, nil, layertest.Before(t, up, site))
			say(test.after)
			compare(t, []layer.Check{{Layer: name, Name: "TLS", Expected: "to grow during the trial: " + opened, Observed: test.observed, OK: test.ok}}, layertest.After(t, up, layer.Did{}))
		})
	}
	say("opened{tls=\"true\"} 1\n")
	compare(t, []layer.Check{{Layer: name, Name: "TLS", Expected: "not to match " + opened, Observed: `"opened{tls=\"true\"} 1\n"`}}, layertest.Off(t, c, site))
	say("opened{tls=\"false\"} 1\n")
	compare(t, []layer.Check{{Layer: name, Name: "TLS", Expected: "not to match " + opened, Observed: `"opened{tls=\"false\"} 1\n"`, OK: true}}, layertest.Off(t, c, site))
}

// It must have grown in every pod, and each pod must have existed before the trial.
func TestGrowsEverywhere(t *testing.T) {
	at := func(title string, total float64) reading { return reading{title: title, total: total} }
	for _, test := range []struct {
		name          string
		before, after []reading
		observed      string
		ok            bool
	}{
		{"both", []reading{at("a", 1), at("b", 5)}, []reading{at("a", 2), at("b", 6)}, "a: 1, then 2; it grew in 1 more", true},
		{"one of two", []reading{at("a", 1), at("b", 5)}, []reading{at("a", 2), at("b", 5)}, "b: 5, then 5", false},
		{"another pod", []reading{at("a", 1)}, []reading{at("b", 2)}, "there was no reading before the trial", false},
		{"no pod", nil, nil, "there is no such pod", false},
		{"a program that failed before", []reading{{title: "a", none: "exit status 1"}}, []reading{at("a", 2)}, "exit status 1, then 2", false},
		{"a program that fails after", []reading{at("a", 1)}, []reading{{title: "a", none: "exit status 1"}}, "1, then exit status 1", false},
	} {
		want := layer.Check{Layer: name, Name: "n", Expected: "to grow during the trial: g", Observed: test.observed, OK: test.ok}
		if diff := cmp.Diff(want, Item{Name: "n", Grows: "g"}.grown(test.before, test.after)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestValidateGrows(t *testing.T) {
	for _, test := range []struct {
		name string
		item Item
		want []experiment.FieldError
	}{
		{"neither", Item{}, []experiment.FieldError{{Field: "checks[0].on", Message: "there is no pattern that shows that the mechanism is on: set on, or grows"}}},
		{"both", Item{On: "x", Grows: `(\d+)`}, []experiment.FieldError{{Field: "checks[0].on", Message: "on and grows exclude each other: a growing number shows that the mechanism is on"}}},
		{"no group", Item{Grows: `\d+`}, []experiment.FieldError{{Field: "checks[0].grows", Message: `"\\d+" is not a regular expression of a number: it has 0 groups; it must have one, the number: (\d+)`}}},
		{"a moment", Item{Grows: `(\d+)`, When: after}, []experiment.FieldError{{Field: "checks[0].when", Message: "a number that grows is read before and after each trial"}}},
	} {
		test.item.Name, test.item.In, test.item.Run = "n", testbed.Host, []string{"cat"}
		if diff := cmp.Diff(test.want, (&config{Checks: []Item{test.item}}).validate()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add("opened 5\n")
	f.Add("opened 1e999\nopened NaN\n")
	pattern, err := counter(`^opened (.*)$`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		total, found, err := sum(pattern, text)
		if err == nil && (total < 0 || math.IsNaN(total)) || err != nil && found != 0 {
			t.Errorf("%q: %v, %d found, %v", text, total, found, err)
		}
	})
}

// Checks that an arm's own layer also has are left to that layer.
func TestProveOffBeside(t *testing.T) {
	same := Item{Name: "same", In: testbed.Host, Run: []string{"echo", "same"}, On: "same"}
	c := &config{Checks: []Item{same, {Name: "other", In: testbed.Host, Run: []string{"echo", "other"}, On: "other"}}}
	s := new(layer.Run).At(localtest.Host(t))
	s.Own = &config{Checks: []Item{same}}
	got, err := c.ProveOff(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, []layer.Check{{Layer: name, Name: "other", Expected: "not to match other", Observed: `"other\n"`}}, got)
}
