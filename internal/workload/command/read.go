package command

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/workload"
)

const (
	readLimit    = 16 << 20 // bytes of an output from which metrics are read
	snippetShown = 160      // bytes of the output that an error shows
)

// output writes one of the program's outputs to a file. If metrics are read from the output, the first 16 MiB are kept
// both in the file and in memory.
type output struct {
	file io.WriteCloser
	keep bool
	kept bytes.Buffer
	over bool // the output is longer than readLimit

	behaviour workload.Listener
	digest    hash.Hash // digest of the output; nil if outputs need not be the same in all arms
}

func (o *output) Write(p []byte) (int, error) {
	if o.keep {
		room := min(len(p), readLimit-o.kept.Len())
		o.kept.Write(p[:room])
		o.over = o.over || room < len(p)
	}
	_, _ = o.behaviour.Write(p) // a Listener's Write never fails
	if o.digest != nil {
		_, _ = o.digest.Write(p)
	}
	return o.file.Write(p)
}

func (m metric) read(o *output) (float64, error) {
	invalid := func(why string) error {
		return workload.Invalidf(workload.RuleParse, "metric %s: %s; %s is %s", m.Name, why, m.from(), snippet(o.kept.Bytes()))
	}
	if o.over {
		return 0, workload.Invalidf(workload.RuleParse, "metric %s: %s is longer than the %d MiB that are read", m.Name, m.from(), readLimit>>20)
	}
	numbers, err := m.numbers(o.kept.Bytes())
	if err != nil {
		return 0, invalid(err.Error())
	}
	v := m.Which.pick(numbers)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, invalid(fmt.Sprintf("%v is not a usable number", v))
	}
	return v, nil
}

func (m metric) from() stream { return cmp.Or(m.Output, stdout) }

// pattern compiles Regex so that ^ and $ match the beginning and end of each line, as in grep.
func (m metric) pattern() (*regexp.Regexp, error) { return regexp.Compile("(?m)" + m.Regex) }

// numbers returns the numbers of all matches. No match is an error.
func (m metric) numbers(text []byte) ([]float64, error) {
	if m.JSON != "" {
		return jsonNumbers(text, m.JSON)
	}
	pattern, err := m.pattern()
	if err != nil {
		return nil, err
	}
	var numbers []float64
	for _, match := range pattern.FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("%q, matched by %s, is not a number", match[1], m.Regex)
		}
		numbers = append(numbers, v)
	}
	if len(numbers) == 0 {
		return nil, fmt.Errorf("no match for %s", m.Regex)
	}
	return numbers, nil
}

// jsonNumbers reads the number at a path from each JSON document in a text. If there are several, such as lines of a
// log, some may lack the number.
func jsonNumbers(text []byte, where string) ([]float64, error) {
	p, err := parsePath(where)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var numbers []float64
	var lacking error
	for {
		var document any
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w", err)
		}
		v, err := p.number(document)
		if err != nil {
			lacking = err
			continue
		}
		numbers = append(numbers, v)
	}
	switch {
	case len(numbers) > 0:
		return numbers, nil
	case lacking != nil:
		return nil, lacking
	}
	return nil, errors.New("no JSON")
}

// pick returns the number that the choice c selects from a list, such as the last one. The list must not be empty.
func (c choice) pick(numbers []float64) float64 {
	total := 0.0
	for _, v := range numbers {
		total += v
	}
	switch c {
	case last:
		return numbers[len(numbers)-1]
	case sum:
		return total
	case mean:
		return total / float64(len(numbers))
	}
	return numbers[0]
}

func snippet(text []byte) string {
	if len(text) == 0 {
		return "empty"
	}
	if len(text) <= snippetShown {
		return strconv.Quote(string(text))
	}
	half := snippetShown / 2
	return fmt.Sprintf("%q … %q (%d bytes)", text[:half], text[len(text)-half:], len(text))
}

// expected is the property of the program's standard output that must be the same in all arms.
type expected string

const same expected = "same" // each execution of the program must print the same bytes

// recordBehaviour records the behaviour of one execution of the program: its standard output, and which files of Makes
// were made.
func (t *totals) recordBehaviour(stdout *output, before []os.FileInfo) {
	seen := stdout.behaviour.Seen()
	if stdout.digest != nil {
		seen.Marks = []string{"sha256:" + hex.EncodeToString(stdout.digest.Sum(nil))}
	}
	t.behaviour.Add(experiment.Output, seen)
	for i, after := range t.config.files() {
		became := " was made"
		switch was := before[i]; {
		case after == nil, was != nil && os.SameFile(was, after) && was.ModTime().Equal(after.ModTime()) && was.Size() == after.Size():
			became = " was not made"
		case after.Size() == 0:
			became = " is empty"
		}
		t.behaviour.Add(experiment.Files, workload.Observation{Marks: []string{t.config.Makes[i] + became}, Runs: 1})
	}
}

// files returns the present state of each file in Makes, which the program must make. The state of a missing file is
// nil.
func (c *Config) files() []os.FileInfo {
	found := make([]os.FileInfo, len(c.Makes))
	for i, name := range c.Makes {
		if !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir, name)
		}
		if info, err := os.Stat(name); err == nil {
			found[i] = info
		}
	}
	return found
}

// path is a path into a JSON document: names of members (string) and indexes into lists (int).
type path []any

// parsePath parses a path such as results[0].p99, .a.b, $.a, or a["b.c"][2]. A leading dot or $ stands for the
// document.
func parsePath(text string) (path, error) {
	rest := strings.TrimPrefix(text, "$")
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		rest = "." + rest
	}
	wrong := func(why string) (path, error) {
		return nil, fmt.Errorf("%q is not a path such as results[0].p99: %s", text, why)
	}
	var p path
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[]")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return wrong("a name is missing")
			}
			p, rest = append(p, rest[1:1+end]), rest[1+end:]
		case strings.HasPrefix(rest, `["`):
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil || !strings.HasPrefix(rest[1+len(quoted):], "]") {
				return wrong(`["…"] is not closed`)
			}
			name, err := strconv.Unquote(quoted)
			if err != nil {
				return wrong(err.Error())
			}
			p, rest = append(p, name), rest[len(quoted)+2:]
		case rest[0] == '[':
			number, after, closed := strings.Cut(rest[1:], "]")
			position, err := strconv.ParseUint(number, 10, 31)
			if !closed || err != nil {
				return wrong("in [ ] stands a position, counted from 0")
			}
			p, rest = append(p, int(position)), after
		default:
			return wrong(fmt.Sprintf("unexpected %q", rest))
		}
	}
	return p, nil
}

// String returns a text that parsePath parses to the same path.
func (p path) String() string {
	if len(p) == 0 {
		return "$"
	}
	var b strings.Builder
	for _, part := range p {
		fmt.Fprintf(&b, "[%#v]", part)
	}
	return b.String()
}

// number returns the number at the path in a document that was decoded with UseNumber. A string that holds a number
// counts as a number.
func (p path) number(document any) (float64, error) {
	at := document
	for i, part := range p {
		here := p[:i].String()
		switch part := part.(type) {
		case int:
			list, ok := at.([]any)
			if !ok {
				return 0, fmt.Errorf("%s is %s, not a list", here, form(at))
			}
			if part >= len(list) {
				return 0, fmt.Errorf("%s has %d elements, and none at [%d]", here, len(list), part)
			}
			at = list[part]
		case string:
			members, ok := at.(map[string]any)
			if !ok {
				return 0, fmt.Errorf("%s is %s, not an object", here, form(at))
			}
			if at, ok = members[part]; !ok {
				return 0, fmt.Errorf("%s has no %q", here, part)
			}
		}
	}
	switch v := at.(type) {
	case json.Number:
		return strconv.ParseFloat(v.String(), 64)
	case string:
		return strconv.ParseFloat(strings.TrimSpace(v), 64)
	}
	return 0, fmt.Errorf("%s is %s, not a number", p, form(at))
}

func form(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "text"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
