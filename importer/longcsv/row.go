package longcsv

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unique"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/importer"
)

// row is one line of the table; the same value serves for one after the other. What
// reads a field keeps what is wrong with it in err.
type row struct {
	header
	fields []string
	source *csv.Reader // tells where a field stands
	before int         // lines before the header
	comma  rune        // separates the fields
	point  rune        // the decimal point of the numbers so far; 0: none had one
	err    error       // the first
}

// at is where the field of a column stands in the file.
func (r *row) at(column string) place {
	line, at := r.source.FieldPos(r.place[column])
	return place{r.before + line, at}
}

// line is that of the row's first field.
func (r *row) line() int {
	line, _ := r.source.FieldPos(0)
	return r.before + line
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
	return fmt.Errorf("%s: %s: %s", r.at(column), column, fmt.Sprintf(format, args...))
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
	m.Headline = m.Scale == experiment.Ratio
	if r.has("headline") {
		m.Headline = r.yes("headline", false)
	}
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
	whole, fraction, comma := strings.Cut(text, ",")
	if !comma && !strings.Contains(text, ".") {
		return importer.Number(text)
	}
	if comma && (r.comma != ';' || strings.ContainsAny(whole, ".") || strings.ContainsAny(fraction, ",.")) {
		return 0, fmt.Errorf("%.40q is not a number: write it without thousands separators", text)
	}
	point, plain := '.', text
	if comma {
		point, plain = ',', whole+"."+fraction
	}
	if r.point == 0 {
		r.point = point
	}
	if r.point != point {
		return 0, fmt.Errorf("%.40q has another decimal point than the numbers before it", text)
	}
	return importer.Number(plain)
}

// levels are those of the factors that have columns of their own.
func (r *row) levels() (list []factor.Level) {
	for _, f := range r.factors {
		value := r.field(f.column)
		if value == "" {
			r.fail(f.column, "the level of %s is missing", f.name)
		}
		list = append(list, factor.Level{Factor: f.name, Value: unique.Make(value).Value()})
	}
	return list
}

// exported are the levels that tare export wrote, of the cell and of the arm:
// "mtu=1500;rules=8". A column of that name with anything else is passed over.
func (r *row) exported() (list []factor.Level) {
	text := r.field(levelsColumn)
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return nil
		}
		list = append(list, factor.Level{Factor: name, Value: value})
	}
	return list
}

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

// start gives the time at which the trial began; the zero time where the field is
// empty.
func (r *row) start() time.Time {
	text := r.field("start")
	if text == "" {
		return time.Time{}
	}
	at, err := importer.Time(text)
	if err != nil {
		r.fail("start", "%s", err)
	}
	return at
}
