package importer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/run/journal"
	"tare/internal/text/safetext"
	"tare/internal/workload"
)

// ruleImport is the rule that a trial breaks if its file cannot be read or has no value that can be compared.
const ruleImport = "import"

// checkName returns an error for a name that is empty, very long, or not printable: nobody could type it, or it could
// look like another name.
func checkName(what, name string) error {
	const maxName = 200 // length of the longest allowed name, in bytes
	switch {
	case name == "":
		return fmt.Errorf("the %s has no name", what)
	case len(name) > maxName:
		return fmt.Errorf("the name of the %s is longer than %d bytes: %s", what, maxName, quoted(name))
	case !utf8.ValidString(name):
		return fmt.Errorf("the name of the %s is not in UTF-8: %s", what, quoted(name))
	case !safetext.Printable(name):
		return fmt.Errorf("the name of the %s holds a character that cannot be printed: %s", what, quoted(name))
	}
	return nil
}

func checkNames(t *Trial) error {
	err := cmp.Or(checkName("cell", t.Cell), checkName("workload", t.Kind))
	for k := 0; k < len(t.Values) && err == nil; k++ {
		m := &t.Values[k].Metric
		err = cmp.Or(checkName("metric", m.Name), checkName("unit", cmp.Or(m.Unit, "none")))
	}
	return cmp.Or(err, checkName("arm", cmp.Or(t.Arm, imported)))
}

// violations lists the rules that a trial breaks, with the reasons. A value must be finite and, on a ratio scale,
// positive.
func violations(t *Trial, conflict string, limit *quantity.Percent) []journal.Violation {
	var list []journal.Violation
	add := func(rule, format string, args ...any) {
		list = append(list, journal.Violation{Rule: rule, Detail: fmt.Sprintf(format, args...)})
	}
	if t.Broken != "" {
		add(ruleImport, "%s", short(t.Broken))
	}
	if conflict != "" {
		add(ruleImport, "%s", short(conflict))
	}
	for _, v := range t.Values {
		switch {
		case !finite(v.Value):
			add(ruleImport, "%s is not a finite number", v.Metric.Name)
		case v.Metric.Scale != experiment.Difference && v.Value <= 0:
			add(ruleImport, "%s is %v; a value on a ratio scale must be positive, and %s", v.Metric.Name, v.Value, differences)
		}
	}
	if len(t.Values) == 0 && t.Broken == "" {
		add(ruleImport, "there is no value")
	}
	switch e := t.Errors; {
	case !e.Known:
	case !(e.Share >= 0 && e.Share <= 1):
		add(ruleImport, "the share of failed operations is %v", e.Share)
	case limit != nil && e.Share > float64(*limit):
		add(workload.RuleErrors, "failed operations %s, over the limit of %v", share(e.Share), *limit)
	}
	return list
}

// share prints a share as a percentage. Shares below 0.05 % get two significant digits, so that they do not become 0 %.
func share(v float64) string {
	if v < 0.0005 {
		return fmt.Sprintf("%.2g%%", v*100)
	}
	return fmt.Sprintf("%.1f%%", v*100)
}

// values returns a trial's finite values by metric. The result twice names a metric that the trial contains twice; "":
// there is none.
func values(t *Trial) (m map[string]float64, twice string) {
	m = make(map[string]float64, len(t.Values))
	for _, v := range t.Values {
		if _, ok := m[v.Metric.Name]; ok {
			twice = v.Metric.Name
		} else if finite(v.Value) {
			m[v.Metric.Name] = v.Value
		}
	}
	return m, twice
}

// CheckWithin returns an error if the trial's series or histograms cannot be stored, for instance because a value is
// not finite.
func (t *Trial) CheckWithin() error {
	for _, s := range t.Series {
		if len(s.Seconds) != len(s.Values) {
			return fmt.Errorf("the series %s has %d times for %d values", quoted(s.Name), len(s.Seconds), len(s.Values))
		}
		if !finite(s.Seconds...) || !finite(s.Values...) {
			return fmt.Errorf("the series %s contains a value that is not a finite number", quoted(s.Name))
		}
	}
	for _, h := range t.Histograms {
		if len(h.Lower) != len(h.Upper) || len(h.Lower) != len(h.Count) {
			return errors.New("the histogram " + quoted(h.Name) + " has bins without bounds or counts")
		}
		if !finite(h.Lower...) || !finite(h.Upper...) {
			return errors.New("the histogram " + quoted(h.Name) + " contains a value that is not a finite number")
		}
	}
	return nil
}

func finite(list ...float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// short cuts a reason from a file to a length that fits a table.
func short(reason string) string {
	const most = 300
	if len(reason) <= most {
		return reason
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "…"
}
