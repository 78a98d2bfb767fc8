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

// Row is one row of named fields. A table has a single Row, which takes one line after the other. Methods keep the
// first error in Err.
type Row struct {
	Names []string // the names of the fields, the table's columns first; "" for a column that is not read
	Err   error    // the first error

	unit  string         // the unit that line counts: "line", or "row" of a document
	line  int            // the number of the line or row, from 1
	index map[string]int // positions of the fields, by name
	texts []string
	point byte // decimal sign of the numbers read so far: point or comma; 0: no number had one

	table   *csv.Reader // table with the row as a line; nil: the row is not from a table, but from JSON, for example
	before  int         // number of lines that come before the table's header
	columns int         // the number of the table's columns
}

// set gives a field its text. It adds a field that the row lacks, and ignores a field without a name.
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
	if !ok || i >= len(r.texts) { // a line may have fewer fields than the header
		return ""
	}
	return strings.TrimSpace(r.texts[i])
}

// needed returns the text of a field, and records an error if there is none. Without a field's name (""), it returns ""
// and no error.
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

// Fail records an error about a field; with field = "", about the row. Later errors about the same row are dropped.
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

// Count reads a whole number from a field. first is the smallest allowed number; smaller ones are an error. The result
// is 0 if the field is empty.
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

// Yes reads true or false, as spreadsheets and scripts write them: yes, 1, no, 0. For an empty field, it returns the
// argument empty.
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

// Number reads a number. In a table with semicolons, the first number fixes point or comma as the decimal sign. The
// other sign is then an error, since it could separate thousands.
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

// intern returns a copy of a text. The text itself is a part of a row, and would keep the row in memory.
func intern(text string) string { return unique.Make(text).Value() }

// assignment matches the beginning of a line KEY=VALUE, up to the equals sign.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=`)

// eachRow reads a text as JSON, as lines KEY=VALUE or as a table, and calls take with each row. list is the path of the
// rows in JSON.
func eachRow(in *bufio.Reader, list string, take func(*Row) error) error {
	head, _ := in.Peek(in.Size()) // if Peek fails, reading the text below gives the same error
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

// assignments reads lines KEY=VALUE, and calls take once: all lines together are one row. Comments and empty lines are
// ignored.
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

// documents reads JSON documents. The argument list is a path in each document: the value at the path is a row or, if
// the value is a list, each of its elements.
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

// at returns the elements of the list at a path in a document. If the value there is no list, it is the only element.
// An empty path means the document.
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

// leaves calls the function leaf for each value within v that is neither an object nor a list. The path of a value is a
// text such as "knb.pod2pod.0".
func leaves(path string, v any, leaf func(path, text string)) {
	const longestPath = 500 // length in bytes above which a path is passed over, since no user would write it into a mapping
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
