package mtls

import (
	"context"
	"errors"
	"fmt"

	"tare/layer"
	"tare/testbed"
	"tare/testbed/orders"
)

// helpers are those of the layer, by where they are.
type helpers map[testbed.Place]*orders.Helper

// start starts one at a place, unless there is one.
func (h helpers) start(ctx context.Context, site testbed.Site, where testbed.Place) error {
	if h[where] != nil {
		return nil
	}
	one, err := orders.Start(ctx, site, where, kind)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	h[where] = one
	return nil
}

// close ends them all.
func (h helpers) close(ctx context.Context) error {
	var errs []error
	for where, one := range h {
		if err := one.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
		delete(h, where)
	}
	return errors.Join(errs...)
}

// checkRules says that so many of the layer's rules should be in force at a place.
func (h helpers) checkRules(ctx context.Context, where testbed.Place, want int) (layer.Check, error) {
	n := 0
	if err := h[where].Ask(ctx, order{Rules: &struct{}{}}, &n); err != nil {
		return layer.Check{}, fmt.Errorf("%s: %w", where, err)
	}
	return layer.Check{Layer: kind, Name: "redirection in the " + string(where),
		Expected: fmt.Sprintf("%d rules", want), Observed: fmt.Sprintf("%d rules", n), OK: n == want}, nil
}
