package table

import (
	"bytes"
	"encoding/csv"
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

// rowsOf finds out what a file is, and gives its rows; list is where they are in a
// JSON document.
func rowsOf(data []byte, list string) ([]*row, error) {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("the file holds NUL bytes: it is no text, or not in UTF-8")
	case data[0] == '{' || data[0] == '[':
		return documents(data, list)
	case data[0] == '#' || assignment.Match(data):
		return assignments(data)
	}
	return lines(data)
}

// assignments reads lines KEY=VALUE, all of which are one row. Comments and empty lines
// are passed over.
func assignments(data []byte) ([]*row, error) {
	all := newRow("line %d", 1)
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
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
	return []*row{all}, nil
}

// lines reads a table with a header. What is in its header most often separates the columns.
func lines(data []byte) ([]*row, error) {
	header, _, _ := strings.Cut(string(data), "\n")
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma = slices.MaxFunc([]rune{',', ';', '\t'}, func(a, b rune) int {
		return strings.Count(header, string(a)) - strings.Count(header, string(b))
	})
	in.ReuseRecord = true
	titles, err := in.Read()
	if err != nil {
		return nil, err
	}
	titles = slices.Clone(titles)
	for i, title := range titles {
		titles[i] = strings.TrimSpace(title)
		if slices.Contains(titles[:i], titles[i]) && titles[i] != "" {
			return nil, fmt.Errorf("line 1: the column %q is there twice", titles[i])
		}
	}
	var rows []*row
	values := 0
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if values += len(fields); values > importer.MostTrials {
			return nil, importer.Room(values)
		}
		line, _ := in.FieldPos(0)
		r := newRow("line %d", line)
		for i, text := range fields {
			r.set(titles[i], strings.Clone(text))
		}
		rows = append(rows, r)
	}
}

// documents reads JSON documents, one after the other: each is a row, or each element of
// the list in it.
func documents(data []byte, list string) ([]*row, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var rows []*row
	left := importer.MostTrials
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
			if err := leaves(r, "", e, &left); err != nil {
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

// leaves makes a field of every leaf.
func leaves(r *row, path string, v any, left *int) error {
	below := func(name string, member any) error {
		if path != "" {
			name = path + "." + name
		}
		if len(name) > longestPath {
			return nil
		}
		return leaves(r, name, member, left)
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if err := below(name, x[name]); err != nil {
				return err
			}
		}
	case []any:
		for i, member := range x {
			if err := below(strconv.Itoa(i), member); err != nil {
				return err
			}
		}
	default:
		if *left--; *left < 0 {
			return importer.Room(importer.MostTrials + 1)
		}
		text := "null"
		if v != nil {
			text = fmt.Sprint(v)
		}
		r.set(path, text)
	}
	return nil
}

// few names the first few fields.
func few(names []string) string {
	const most = 12
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	return strings.Join(names, ", ")
}
