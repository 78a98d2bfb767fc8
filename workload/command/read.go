package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"regexp"
	"strconv"

	"tare/workload"
)

const (
	readLimit    = 16 << 20 // bytes of an output from which metrics are read
	snippetShown = 160      // bytes of it that an error shows
)

// output is one of the program's outputs on its way into a file. Its beginning
// is also kept if metrics are read from it.
type output struct {
	file io.WriteCloser
	keep bool
	kept bytes.Buffer
	over bool // there was more than readLimit

	said   workload.Listener
	digest hash.Hash // nil: nobody asks for it
}

func (o *output) Write(p []byte) (int, error) {
	if o.keep {
		room := min(len(p), readLimit-o.kept.Len())
		o.kept.Write(p[:room])
		o.over = o.over || room < len(p)
	}
	_, _ = o.said.Write(p) // it never fails, and neither does a digest
	if o.digest != nil {
		_, _ = o.digest.Write(p)
	}
	return o.file.Write(p)
}

func (m Metric) read(o *output) (float64, error) {
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
	v := m.Which.of(numbers)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, invalid(fmt.Sprintf("%v is not a usable number", v))
	}
	return v, nil
}

func (m Metric) from() Output {
	if m.Output == "" {
		return Stdout
	}
	return m.Output
}

// pattern is Regex by lines: as in grep, ^ and $ match at each line.
func (m Metric) pattern() (*regexp.Regexp, error) { return regexp.Compile("(?m)" + m.Regex) }

// numbers gives all that match; there is at least one.
func (m Metric) numbers(text []byte) ([]float64, error) {
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

// jsonNumbers gives the number at a path in each of the documents that stand in
// text one after the other. A lone document may have it or not; of several, as
// in logs of JSON lines, those that lack it are passed over.
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

// of takes one number from several, of which there is at least one.
func (w Which) of(numbers []float64) float64 {
	sum := 0.0
	for _, v := range numbers {
		sum += v
	}
	switch w {
	case Last:
		return numbers[len(numbers)-1]
	case Sum:
		return sum
	case Mean:
		return sum / float64(len(numbers))
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
