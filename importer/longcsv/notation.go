package longcsv

import (
	"fmt"
	"regexp"
	"strings"
)

// written is how the values of a metric are written in a table with semicolons,
// where a point or comma may be either a decimal point or a thousands separator.
type written struct {
	grouped place  // of the first value as "1.021"
	text    string // that value
	whole   bool   // others have neither point nor comma
}

var (
	// numeric begins what was meant for a number, unlike "-", "n/a" and "#DIV/0!".
	numeric = regexp.MustCompile(`^[-+]?[.,]?[0-9]`)
	// grouped is a number that may be thousands.
	grouped = regexp.MustCompile(`^[-+]?[1-9][0-9]{0,2}[.,][0-9]{3}$`)
	whole   = regexp.MustCompile(`^[-+]?[0-9]+$`)
)

func (t *trials) write(r *row, m *described, text string) {
	switch {
	case r.comma != ';' || t.decimal:
	case whole.MatchString(text):
		m.written.whole = true
	case !grouped.MatchString(text):
		t.decimal = true // no thousands look like this
	case m.written.text == "":
		m.written.grouped, m.written.text = r.at("value"), strings.Clone(text)
	}
}

// ambiguous refuses a table in which a value may be a thousand times larger than
// it looks. Where all values of a metric are written alike, no ratio of them
// depends on it.
func (t *trials) ambiguous() error {
	if t.decimal {
		return nil
	}
	var first *written
	for _, m := range t.metrics {
		if w := &m.written; w.whole && w.text != "" && (first == nil || w.grouped.line < first.grouped.line) {
			first = w
		}
	}
	if first == nil {
		return nil
	}
	return fmt.Errorf("%s: value: %q may be a thousand times as much, beside whole numbers of the same metric: write all values with decimals, or without thousands separators", first.grouped, first.text)
}
