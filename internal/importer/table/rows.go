package table

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/importer"
	"tare/internal/importer/delimited"
	"tare/internal/toolformat/jsondoc"
)

// assignment matches the beginning of a line KEY=VALUE.
var assignment = regexp.MustCompile(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)=`)

// eachRow recognises the form of a text, and calls take with each row. list is the path of the list of rows in
// a JSON document.
func eachRow(in *bufio.Reader, list string, take func(*Row) error) error {
	head, _ := in.Peek(in.Size()) // the following read returns the same error
	head = bytes.TrimLeft(head, " \t\r\n")
	values := 0
	counted := func(r *Row) error {
		values += len(r.names)
		return cmp.Or(importer.CheckCount(values), take(r))
	}
	switch {
	case bytes.IndexAny(head, "{[") == 0:
		return documents(in, list, counted)
	case bytes.IndexByte(head, '#') == 0 || assignment.Match(head):
		return assignments(in, counted)
	}
	// The separator is the one that yields the most columns.
	table, err := delimited.Open(in, func(string) bool { return true }, "")
	if err != nil {
		return err
	}
	r, err := NewRow(table, func(title string) (string, error) { return title, nil })
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
		if err := importer.CheckCount(len(all.names)); err != nil {
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

// documents reads JSON documents. A row is a whole document, or an element of the list in it.
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
				if len(r.names) <= importer.MostTrials {
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

// longestPath is the length of the longest path of a field, in bytes. Nobody would write a longer one into a
// mapping.
const longestPath = 500

// leaves calls leaf with every leaf of a value and its path.
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
