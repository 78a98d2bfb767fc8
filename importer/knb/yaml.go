package knb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/yaml"
)

// readYAML reads the result as knb prints it in YAML. Messages may follow it, which do
// not begin with a blank.
func readYAML(text []byte) (*report, error) {
	end := 0
	for line := range bytes.Lines(text) {
		if !bytes.ContainsAny(line[:1], " #\r\n") && !begins(line) {
			break
		}
		end += len(line)
	}
	if bytes.ContainsRune(text[:end], '&') {
		return nil, errors.New("the YAML has an anchor (&), and knb writes none") // nothing is multiplied by aliases
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

// begins says whether a line begins the result, or the second part of it.
func begins(line []byte) bool {
	word := string(bytes.TrimRight(line, " \t\r\n"))
	return word == "metadata:" || word == "data:"
}
