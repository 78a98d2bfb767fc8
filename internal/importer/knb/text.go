package knb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/toolformat/jsondoc"
)

// knb prints its JSON piece by piece. A missing value leaves nothing after the colon. If only the idle test
// ran, there is an extra comma.
var (
	noValue   = regexp.MustCompile(`(":[ \t]*)(,|\r?\n)`)
	lastComma = regexp.MustCompile(`,(\s*\})`)
)

// readJSON reads a result in valid JSON, or in JSON with knb's defects.
func readJSON(text []byte) (*report, error) {
	r, err := decode(text)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		mended := noValue.ReplaceAll(text, []byte(`${1}null${2}`))
		if again, errAgain := decode(lastComma.ReplaceAll(mended, []byte(`$1`))); errAgain == nil {
			return again, nil
		}
	}
	if err != nil {
		return nil, jsondoc.Explain(err)
	}
	return r, nil
}

// decode reads the first document of the text. Messages may follow it.
func decode(text []byte) (*report, error) {
	var r report
	return &r, json.NewDecoder(bytes.NewReader(text)).Decode(&r)
}

// readYAML reads a result in knb's YAML. Messages may follow it, if they do not begin with a blank.
func readYAML(text []byte) (*report, error) {
	end := 0
	for line := range bytes.Lines(text) {
		if !bytes.ContainsAny(line[:1], " #\r\n") && !begins(line) {
			break
		}
		end += len(line)
	}
	if bytes.ContainsRune(text[:end], '&') {
		return nil, errors.New("the YAML has an anchor (&), and knb writes none") // aliases could multiply the size of the text
	}
	var values map[string]any
	err := yaml.UnmarshalStrict(text[:end], &values)
	if err == nil {
		text, err = json.Marshal(values)
	}
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	return readJSON(text)
}

// begins reports whether a line begins the result, or the second part of it.
func begins(line []byte) bool {
	word := string(bytes.TrimRight(line, " \t\r\n"))
	return word == "metadata:" || word == "data:"
}
