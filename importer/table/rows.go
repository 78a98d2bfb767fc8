package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/importer"
	"tare/importer/delimited"
	"tare/toolformat/jsondoc"
)

// row is named fields with their text.
type row struct {
	place string // in the file, for messages
	names []string
	text  map[string]string
}

func (r *row) set(name, text string) {
	if _, ok := r.text[name]; !ok {
		r.names = append(r.names, name)
	}
	r.text[name] = strings.TrimSpace(text)
}

func newRow(format string, n int) *row {
	return &row{place: fmt.Sprintf(format, n), text: map[string]string{}}
}

// assignment begins a line of KEY=VALUE.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=`)

// rowsOf finds out what a text is, and gives its rows; list is where they are in a
// JSON document.
func rowsOf(in *bufio.Reader, list string) ([]*row, error) {
	head, _ := in.Peek(in.Size()) // what is wrong with it shows when it is read
	head = bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.IndexAny(head, "{[") == 0:
		return documents(in, list)
	case bytes.IndexByte(head, '#') == 0 || assignment.Match(head):
		return assignments(in)
	}
	return lines(in)
}

// assignments reads lines KEY=VALUE, all of which are one row. Comments and empty lines
// are passed over.
func assignments(text io.Reader) ([]*row, error) {
	all := newRow("line %d", 1)
	in := bufio.NewScanner(text)
	in.Buffer(nil, importer.Limit)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := assignment.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is %.60q, not KEY=VALUE", n, line)
		}
		if _, twice := all.text[m[1]]; twice {
			return nil, fmt.Errorf("line %d: %s is there twice", n, m[1])
		}
		if err := importer.Room(len(all.names)); err != nil {
			return nil, err
		}
		value := line[len(m[0]):]
		if q := len(value) - 1; q > 0 && (value[0] == '"' || value[0] == '\'') && value[q] == value[0] {
			value = value[1:q]
		}
		all.set(m[1], value)
	}
	return []*row{all}, in.Err()
}

// lines reads a table with a header. What separates the most columns of it, separates the fields.
func lines(in *bufio.Reader) ([]*row, error) {
	table, err := delimited.Open(in, func(string) bool { return true }, "")
	if err != nil {
		return nil, err
	}
	twice := map[string]bool{}
	for _, title := range table.Titles {
		if twice[title] {
			return nil, fmt.Errorf("line %d: the column %q is there twice", table.At(0).Line, title)
		}
		twice[title] = title != ""
	}
	var rows []*row
	values := 0
	err = table.Each(func(fields []string) error {
		r := newRow("line %d", table.At(0).Line)
		for i, text := range fields {
			r.set(table.Titles[i], strings.Clone(text))
		}
		rows = append(rows, r)
		values += len(fields)
		return importer.Room(values)
	})
	return rows, err
}

// documents reads JSON documents, one after the other: each is a row, or each element of
// the list in it.
func documents(in io.Reader, list string) ([]*row, error) {
	d := json.NewDecoder(in)
	d.UseNumber()
	var rows []*row
	values := 0
	for {
		var doc any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, jsondoc.Explain(err)
		}
		elements, err := at(doc, list)
		if err != nil {
			return nil, err
		}
		for _, e := range elements {
			r := newRow("row %d", len(rows)+1)
			leaves("", e, func(path, text string) {
				if values++; values <= importer.MostTrials {
					r.set(path, text)
				}
			})
			if err := importer.Room(values); err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
}

// at gives the elements of the list at a path, or the document itself where it is none.
func at(doc any, path string) ([]any, error) {
	for step := range strings.SplitSeq(path, ".") {
		if path == "" {
			break
		}
		members, _ := doc.(map[string]any)
		inner, ok := members[step]
		if !ok {
			return nil, fmt.Errorf("there is no %s, where the rows are to be: there are %s", path, few(slices.Sorted(maps.Keys(members))))
		}
		doc = inner
	}
	if elements, ok := doc.([]any); ok {
		return elements, nil
	}
	return []any{doc}, nil
}

// longestPath is how long the path of a field may be, in bytes; those that are longer
// nobody could write into a mapping.
const longestPath = 500

// leaves hands on every leaf of a value with its path.
func leaves(path string, v any, leaf func(path, text string)) {
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

// few names the first few fields.
func few(names []string) string {
	const most = 12
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}
