package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unique"

	"tare/internal/importer"
	"tare/internal/toolformat/jsondoc"
)

// Row is one row of named fields. A table reuses one Row for all its lines. Methods that read a field record the
// first error in Err.
type Row struct {
	Names []string // the names of the fields, the table's columns first; "" for a column that is not read
	Err   error    // the first error

	unit  string         // the unit that line counts: "line", or "row" of a document
	line  int            // the number of the line or row, from 1
	index map[string]int // positions of the fields, by name
	texts []string
	point byte // the decimal point of the numbers so far; 0: no number had one

	table   *csv.Reader // the table that the line belongs to; nil: none
	before  int         // the number of lines before the table's header
	columns int         // the number of the table's columns
}

// set sets the text of a field, and adds the field if it is new. An empty name is ignored.
func (r *Row) set(name, text string) {
	if name == "" {
		return
	}
	i, known := r.index[name]
	if !known {
		i = len(r.Names)
		r.index[name] = i
		r.Names = append(r.Names, name)
	}
	if i == len(r.texts) {
		r.texts = append(r.texts, "")
	}
	r.texts[i] = text
}

// Has reports whether the row has a field of this name.
func (r *Row) Has(field string) bool {
	_, ok := r.index[field]
	return ok
}

// Field returns the text of a field, without blanks around it; "" if the row has no such field.
func (r *Row) Field(name string) string {
	i, ok := r.index[name]
	if !ok || i >= len(r.texts) { // the row has fewer fields than the header
		return ""
	}
	return strings.TrimSpace(r.texts[i])
}

// needed returns the text of a field, and records an error if the text is empty. If the argument field is "", needed
// returns "".
func (r *Row) needed(field, what string) string {
	text := r.Field(field)
	switch {
	case field == "" || text != "":
	case !r.Has(field):
		r.Fail("", "there is no field %s, which tells the %s: there are %s", field, what, importer.Few(12, r.Names))
	default:
		r.Fail(field, "the %s is missing", what)
	}
	return text
}

// Fail records an error about a field, or about the whole row if the name is empty. Only the first error of a
// row is kept.
func (r *Row) Fail(field, format string, args ...any) {
	if r.Err == nil {
		r.Err = r.wrong(field, format, args...)
	}
}

func (r *Row) wrong(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + ": " + text
	}
	if i, ok := r.index[field]; ok && i < r.columns {
		line, column := r.table.FieldPos(i)
		return fmt.Errorf("line %d, column %d: %s", r.before+line, column, text)
	}
	return fmt.Errorf("%s %d: %s", r.unit, r.line, text)
}

// Count reads a whole number that is not less than the argument first; 0 if the field is empty.
func (r *Row) Count(field, what string, first int) int {
	text := r.Field(field)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < first || n > math.MaxInt32 {
		r.Fail(field, "%.40q is not a number of %s, which are whole and begin at %d", text, what, first)
	}
	return n
}

func (r *Row) either(field, one, other string) string {
	text := strings.ToLower(r.Field(field))
	if text != one && text != other {
		r.Fail(field, "%.40q is neither %s nor %s", text, one, other)
	}
	return text
}

// Yes reads true or false in the spellings of spreadsheets and scripts. It returns the argument empty for an empty
// field.
func (r *Row) Yes(field string, empty bool) bool {
	switch text := strings.ToLower(r.Field(field)); text {
	case "":
		return empty
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
	default:
		r.Fail(field, "%.40q is neither true nor false", text)
	}
	return false
}

func (r *Row) semicolons() bool { return r.table != nil && r.table.Comma == ';' }

// Number reads a number. If semicolons separate fields, a comma may be the decimal point. The first number with a
// point or a comma decides for all numbers: the other character could be a thousands separator, and is an error.
func (r *Row) Number(text string) (float64, error) {
	at := strings.IndexAny(text, ",.")
	if at < 0 {
		return importer.Number(text)
	}
	if strings.Contains(text, ",") && (!r.semicolons() || strings.ContainsAny(text[at+1:], ",.")) {
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

func (r *Row) share(field string) importer.ErrorRate {
	text := r.Field(field)
	if text == "" {
		return importer.ErrorRate{}
	}
	bare, percent := strings.CutSuffix(text, "%")
	share, err := r.Number(strings.TrimSpace(bare))
	if percent {
		share /= 100
	}
	if err != nil || share < 0 || share > 1 {
		r.Fail(field, "%.40q is not a share of failed operations, from 0 to 1 or as a percentage", text)
	}
	return importer.ErrorRate{Share: share, Known: true}
}

// intern returns a copy of a text that does not keep the row in memory.
func intern(text string) string { return unique.Make(text).Value() }

// assignment matches the beginning of a line KEY=VALUE.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=`)

// eachRow recognises the form of a text, and calls take with each row. In a JSON document, the argument list is the
// path of the list of rows.
func eachRow(in *bufio.Reader, list string, take func(*Row) error) error {
	head, _ := in.Peek(in.Size()) // the following read returns the same error
	head = bytes.TrimLeft(head, " \t\r\n")
	values := 0
	counted := func(r *Row) error {
		values += len(r.Names)
		return cmp.Or(importer.CheckCount(values), take(r))
	}
	switch {
	case bytes.IndexAny(head, "{[") == 0:
		return documents(in, list, counted)
	case bytes.IndexByte(head, '#') == 0 || assignment.Match(head):
		return assignments(in, counted)
	}
	r, err := openTable(in)
	if err != nil {
		return err
	}
	return r.Each(counted)
}

// assignments reads lines KEY=VALUE, which together are one row. Comments and empty lines are ignored.
func assignments(text io.Reader, take func(*Row) error) error {
	all := &Row{unit: "line", line: 1, index: map[string]int{}}
	in := bufio.NewScanner(text)
	in.Buffer(nil, importer.Limit)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return fmt.Errorf("line %d is %.60q, not KEY=VALUE", n, line)
		}
		if all.Has(m[1]) {
			return fmt.Errorf("line %d: %s is there twice", n, m[1])
		}
		if err := importer.CheckCount(len(all.Names)); err != nil {
			return err
		}
		value := line[len(m[0]):]
		if q := len(value) - 1; q > 0 && (value[0] == '"' || value[0] == '\'') && value[q] == value[0] {
			value = value[1:q]
		}
		all.set(m[1], value)
	}
	if err := in.Err(); err != nil {
		return err
	}
	return take(all)
}

// documents reads JSON documents. A row is a whole document, or an element of the list at the path in the argument
// list.
func documents(in io.Reader, list string, take func(*Row) error) error {
	d := json.NewDecoder(in)
	d.UseNumber()
	for n := 1; ; {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return jsondoc.Explain(err)
		}
		elements, err := at(doc, list)
		if err != nil {
			return err
		}
		for _, e := range elements {
			r := &Row{unit: "row", line: n, index: map[string]int{}}
			leaves("", e, func(path, text string) {
				if len(r.Names) <= importer.MostTrials {
					r.set(path, text)
				}
			})
			if err := take(r); err != nil {
				return err
			}
			n++
		}
	}
}

// at returns the elements of the list at a path, or the document itself if it is no list.
func at(doc any, path string) ([]any, error) {
	for step := range strings.SplitSeq(path, ".") {
		if path == "" {
			break
		}
		members, _ := doc.(map[string]any)
		inner, ok := members[step]
		if !ok {
			return nil, fmt.Errorf("there is no %s, where the rows are to be: there are %s", path, importer.Few(12, slices.Sorted(maps.Keys(members))))
		}
		doc = inner
	}
	if elements, ok := doc.([]any); ok {
		return elements, nil
	}
	return []any{doc}, nil
}

// leaves calls leaf with each leaf of a value, and the path of the leaf.
func leaves(path string, v any, leaf func(path, text string)) {
	const longestPath = 500 // in bytes; nobody would write a longer path into a mapping
	below := func(name string, member any) {
		if path != "" {
			name = path + "." + name
		}
		if len(name) <= longestPath {
			leaves(name, member, leaf)
		}
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			below(name, x[name])
		}
	case []any:
		for i, member := range x {
			below(strconv.Itoa(i), member)
		}
	case nil:
		leaf(path, "null")
	default:
		leaf(path, fmt.Sprint(x))
	}
}
