// Package placeholder fills in values in texts of an experiment file that are known only when a site exists, such as
// the name of its namespace: $(TARE_NAMESPACE).
//
// The form is that of variables in a pod's command. It needs no quotes in YAML and means nothing to a shell or to
// templates. Only names that begin with TARE_ are placeholders. Every other $(NAME) is left unchanged, and
// $$(TARE_NAMESPACE) only loses its first $.
package placeholder

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// These are the names. The documentation of a layer lists those that it fills in.
const (
	Namespace = "TARE_NAMESPACE" // namespace of the arm's site
	Context   = "TARE_CONTEXT"   // context of the kubeconfig for the arm's cluster
	Server    = "TARE_SERVER"    // address of the server's pod, as the client's pod reaches it
)

// Values are the values to fill in, by name.
type Values map[string]string

var pattern = regexp.MustCompile(`\$?\$\((TARE_[A-Za-z0-9_]*)\)`)

// Check returns an error if a text contains an unknown placeholder.
func Check(text string, known ...string) error {
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(found[0], "$$") && !slices.Contains(known, found[1]) {
			if len(known) == 0 {
				return fmt.Errorf("$(%s) is not known here: it needs a cluster", found[1])
			}
			return fmt.Errorf("$(%s) is not known here: known is $(%s)", found[1], strings.Join(known, "), $("))
		}
	}
	return nil
}

// Fill fills in the placeholders of a text. A placeholder without a value is an error.
func (v Values) Fill(text string) (string, error) {
	if err := Check(text, slices.Sorted(maps.Keys(v))...); err != nil {
		return "", err
	}
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		if escaped, is := strings.CutPrefix(found, "$$"); is {
			return "$" + escaped
		}
		return v[strings.TrimSuffix(strings.TrimPrefix(found, "$("), ")")]
	}), nil
}
