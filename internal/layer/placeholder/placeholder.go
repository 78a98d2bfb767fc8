// Package placeholder replaces placeholders in texts of an experiment file, such as $(TARE_NAMESPACE), the name of the
// site's namespace. Their values are known only when a site exists.
//
// Placeholders have the form of variables in a pod's command. It needs no quotes in YAML, and means nothing to a shell
// or to templates. Only names that begin with TARE_ are placeholders. Every other $(NAME) is left unchanged.
// $$(TARE_NAMESPACE) is no placeholder: its result is $(TARE_NAMESPACE).
package placeholder

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

// Names of placeholders. The documentation of a layer lists the placeholders that the layer replaces.
const (
	Namespace = "TARE_NAMESPACE" // namespace of the arm's site
	Context   = "TARE_CONTEXT"   // context of the kubeconfig for the arm's cluster
	Server    = "TARE_SERVER"    // address of the server's pod, as the client's pod reaches it
)

// Values holds the values of placeholders, by name.
type Values map[string]string

var pattern = regexp.MustCompile(`\$?\$\((TARE_[A-Za-z0-9_]*)\)`)

// Check returns an error if a text contains a placeholder other than the known ones.
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

// Fill replaces the placeholders in a text with their values. A placeholder without a value is an error.
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

// CheckCommand checks that a command of the experiment file has a program, and only known placeholders.
func CheckCommand(errs *experiment.FieldErrors, field string, args reference.Arguments, known ...string) {
	*errs = append(*errs, args.ValidateCommand(field)...)
	for _, arg := range args {
		if err := Check(arg, known...); err != nil {
			errs.Add(field, "%v", err)
		}
	}
}

// At returns the values of placeholders at a site. A site on this machine has no values.
func At(ctx context.Context, site testbed.Site) (Values, error) {
	s, err := kube.Of(site)
	if err != nil {
		return Values{}, nil
	}
	c, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return Values{Context: c.Context, Namespace: s.Namespace()}, nil
}
