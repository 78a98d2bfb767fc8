package longcsv

import (
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/experiment"
	"tare/importer"
)

// row is one line of the table; the same value serves for one after the other.
type row struct {
	*header
	fields []string
	source *csv.Reader // tells where a field stands
	before int         // lines before the header
	comma  rune        // separates the fields
	point  rune        // the decimal point of the numbers so far; 0: none had one
}

// at is where a field stands in the file.
func (r *row) at(field int) place {
	line, column := r.source.FieldPos(field)
	return place{r.before + line, column}
}

// field gives the text of a column, without blanks around it; "" where the table
// has no such column.
func (r *row) field(column int) string {
	if !r.has(column) {
		return ""
	}
	return strings.TrimSpace(r.fields[r.place[column]])
}

// wrong is an error about one field.
func (r *row) wrong(column int, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %s", r.at(r.place[column]), names[column], fmt.Sprintf(format, args...))
}

// metric gives the description of the row's metric.
func (r *row) metric() (experiment.Metric, error) {
	m := experiment.Metric{Name: r.field(colMetric), Unit: r.field(colUnit), Scale: experiment.Ratio}
	if m.Name == "" {
		return m, r.wrong(colMetric, "the name of a metric is missing")
	}
	switch better := strings.ToLower(r.field(colBetter)); better {
	case "higher", "lower":
		m.Better = experiment.Better(better)
	default:
		return m, r.wrong(colBetter, "%.40q is neither higher nor lower", better)
	}
	switch scale := strings.ToLower(r.field(colScale)); scale {
	case "":
	case "ratio", "difference":
		m.Scale = experiment.Scale(scale)
	default:
		return m, r.wrong(colScale, "%.40q is neither ratio nor difference", scale)
	}
	m.Headline = m.Scale == experiment.Ratio
	if r.has(colHeadline) {
		headline, err := r.yes(colHeadline, false)
		if err != nil {
			return m, err
		}
		if headline && m.Scale == experiment.Difference {
			return m, r.wrong(colHeadline, "a metric on the scale difference cannot be a headline")
		}
		m.Headline = headline
	}
	return m, nil
}

// round gives the number of the round; 0 where the field is empty.
func (r *row) round() (int, error) {
	return r.count(colRound, "is not a number of a round, which are whole and begin at 1")
}

// attempt gives the number of the attempt at a round; 1 where the field is empty.
func (r *row) attempt() (int, error) {
	n, err := r.count(colAttempt, "is not a number of an attempt, which are whole and begin at 1")
	return max(1, n), err
}

// count reads a number that counts from 1; 0 where the field is empty.
func (r *row) count(column int, trouble string) (int, error) {
	text := r.field(column)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > math.MaxInt32 {
		return 0, r.wrong(column, "%.40q %s", text, trouble)
	}
	return n, nil
}

// yes reads what spreadsheets and scripts write for true and false.
func (r *row) yes(column int, empty bool) (bool, error) {
	switch text := strings.ToLower(r.field(column)); text {
	case "":
		return empty, nil
	case "true", "yes", "1":
		return true, nil
	case "false", "no", "0":
		return false, nil
	default:
		return false, r.wrong(column, "%.40q is neither true nor false", text)
	}
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

// errors gives the share of failed operations: "0.02" or "2%".
func (r *row) errors() (importer.ErrorRate, error) {
	text := r.field(colErrors)
	if text == "" {
		return importer.ErrorRate{}, nil
	}
	bare, percent := strings.CutSuffix(text, "%")
	share, err := r.number(strings.TrimSpace(bare))
	if percent {
		share /= 100
	}
	if err != nil || share < 0 || share > 1 {
		return importer.ErrorRate{}, r.wrong(colErrors, "%.40q is not a share of failed operations, from 0 to 1 or as a percentage", text)
	}
	return importer.ErrorRate{Share: share, Known: true}, nil
}

// start gives the time at which the trial began; the zero time where the field is
// empty.
func (r *row) start() (time.Time, error) {
	text := r.field(colStart)
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if seconds, err := importer.Number(text); err == nil && seconds >= 0 && seconds < 1<<33 {
		return time.Unix(0, int64(seconds*1e9)), nil
	}
	return time.Time{}, r.wrong(colStart, "%.40q is neither a time as 2026-01-02T15:04:05Z nor seconds since 1970", text)
}
