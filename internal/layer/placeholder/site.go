package placeholder

import (
	"context"

	"tare/internal/experiment"
	"tare/internal/experiment/reference"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
)

// CheckCommand checks a command of the experiment file. The command must name a program, and all its
// placeholders must be known.
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
