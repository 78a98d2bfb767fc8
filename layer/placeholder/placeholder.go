// Package placeholder fills in what is known only when a site is there, such as
// the name of its namespace, in texts of an experiment file: $(TARE_NAMESPACE).
//
// The form is that of variables in a pod's command, so that it stands in YAML
// without quotes and means nothing to a shell or to templates. Only names that
// begin with TARE_ are Tare's; every other $(NAME) is left as it is, and so is
// $$(TARE_NAMESPACE), without its first $.
package placeholder

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The names. A layer's documentation says which of them it fills in.
const (
	Namespace = "TARE_NAMESPACE" // of the arm's site
	Context   = "TARE_CONTEXT"   // of the kubeconfig, of the arm's cluster
	Server    = "TARE_SERVER"    // address of the server's pod, as the client's pod reaches it
)

// Values are what to fill in, by name.
type Values map[string]string

var pattern = regexp.MustCompile(`\$?\$\((TARE_[A-Za-z0-9_]*)\)`)

// Check says that a text holds a name that is none of those known.
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

// Fill fills a text in. It is an error when the text asks for what has no value.
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
