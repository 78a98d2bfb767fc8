package longcsv

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/importer"
	"tare/importer/delimited"
)

// row is one line of the table; the same value serves for one after the other. What
// reads a field keeps what is wrong with it in err.
type row struct {
	*delimited.Table
	place   map[string]int // of the fields that are read, by the column's name
	factors []string       // that have a column of their own
	fields  []string
	point   byte  // the decimal point of the numbers so far; 0: none had one
	err     error // the first
}

// line is that of the row's first field.
func (r *row) line() int { return r.At(0).Line }

// has says whether the table has a column.
func (r *row) has(column string) bool {
	_, ok := r.place[column]
	return ok
}

// field gives the text of a column, without blanks around it; "" where the table
// has no such column.
func (r *row) field(column string) string {
	at, ok := r.place[column]
	if !ok {
		return ""
	}
	return strings.TrimSpace(r.fields[at])
}

func (r *row) wrong(column, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %s", r.At(r.place[column]), column, fmt.Sprintf(format, args...))
}

// fail keeps an error about one field, if it is the first of the row.
func (r *row) fail(column, format string, args ...any) {
	if r.err == nil {
		r.err = r.wrong(column, format, args...)
	}
}

func (r *row) metric() experiment.Metric {
	m := experiment.Metric{Name: r.field("metric"), Unit: r.field("unit"), Scale: experiment.Ratio}
	if m.Name == "" {
		r.fail("metric", "the name of a metric is missing")
	}
	m.Better = experiment.Better(r.either("better", string(experiment.Higher), string(experiment.Lower)))
	if r.field("scale") != "" {
		m.Scale = experiment.Scale(r.either("scale", string(experiment.Ratio), string(experiment.Difference)))
	}
	m.Headline = r.yes("headline", !r.has("headline") && m.Scale == experiment.Ratio)
	if m.Headline && m.Scale == experiment.Difference {
		r.fail("headline", "a metric on the scale difference cannot be a headline")
	}
	return m
}

func (r *row) either(column, one, other string) string {
	text := strings.ToLower(r.field(column))
	if text != one && text != other {
		r.fail(column, "%.40q is neither %s nor %s", text, one, other)
	}
	return text
}

// count reads a number of something that counts from 1; 0 where the field is empty.
func (r *row) count(column, what string) int {
	text := r.field(column)
	n, err := strconv.Atoi(cmp.Or(text, "1"))
	switch {
	case text == "":
		return 0
	case err != nil || n < 1 || n > math.MaxInt32:
		r.fail(column, "%.40q is not a number of %s, which are whole and begin at 1", text, what)
	}
	return n
}

// yes reads what spreadsheets and scripts write for true and false.
func (r *row) yes(column string, empty bool) bool {
	switch text := strings.ToLower(r.field(column)); text {
	case "":
		return empty
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
	default:
		r.fail(column, "%.40q is neither true nor false", text)
	}
	return false
}

// number reads a number. Where a semicolon separates fields, a comma may be its
// decimal point, as spreadsheets of many countries write it. Which of the two a
// file uses shows in its first number with either; one with the other could be a
// thousand times larger than it looks, and is refused.
func (r *row) number(text string) (float64, error) {
	at := strings.IndexAny(text, ",.")
	if at < 0 {
		return importer.Number(text)
	}
	if strings.Contains(text, ",") && (r.Comma != ';' || strings.ContainsAny(text[at+1:], ",.")) {
		return 0, fmt.Errorf("%.40q is not a number: write it without thousands separators", text)
	}
	if r.point == 0 {
		r.point = text[at]
	}
	if r.point != text[at] {
		return 0, fmt.Errorf("%.40q has another decimal point than the numbers before it", text)
	}
	return importer.Number(strings.Replace(text, ",", ".", 1))
}

// levels are those of the factors that have columns of their own.
func (r *row) levels() (list []factor.Level) {
	for _, name := range r.factors {
		value := r.field(factorPrefix + name)
		if value == "" {
			r.fail(factorPrefix+name, "the level of %s is missing", name)
		}
		list = append(list, factor.Level{Factor: name, Value: intern(value)})
	}
	return list
}

// exported are the levels that tare export wrote, of the cell and of the arm:
// "mtu=1500;rules=8", without those that have columns of their own. A column of that
// name with anything else is passed over.
func (r *row) exported() (list []factor.Level) {
	for part := range strings.SplitSeq(r.field(levelsColumn), ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil
		}
		if !slices.Contains(r.factors, name) {
			list = append(list, factor.Level{Factor: intern(name), Value: intern(value)})
		}
	}
	return list
}

// intern gives a text that keeps no row alive.
func intern(text string) string { return unique.Make(text).Value() }

// errors gives the share of failed operations: "0.02" or "2%".
func (r *row) errors() importer.ErrorRate {
	text := r.field("errors")
	if text == "" {
		return importer.ErrorRate{}
	}
	bare, percent := strings.CutSuffix(text, "%")
	share, err := r.number(strings.TrimSpace(bare))
	if percent {
		share /= 100
	}
	if err != nil || share < 0 || share > 1 {
		r.fail("errors", "%.40q is not a share of failed operations, from 0 to 1 or as a percentage", text)
	}
	return importer.ErrorRate{Share: share, Known: true}
}
