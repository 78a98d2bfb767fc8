package mtls

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// helpers are the layer's helpers, by place.
type helpers map[testbed.Place]*helperrpc.Helper

// start starts a helper at a place, unless one runs there.
func (h helpers) start(ctx context.Context, site testbed.Site, where testbed.Place) error {
	if h[where] != nil {
		return nil
	}
	one, err := helperrpc.Start(ctx, site, where, kind)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	h[where] = one
	return nil
}

// close ends all helpers.
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

// checkRules checks how many of the layer's redirection rules are in force at a place.
func (h helpers) checkRules(ctx context.Context, where testbed.Place, want int) (layer.Check, error) {
	n := 0
	if err := h[where].Ask(ctx, request{Rules: &struct{}{}}, &n); err != nil {
		return layer.Check{}, fmt.Errorf("%s: %w", where, err)
	}
	return layer.Check{Layer: kind, Name: "redirection in the " + string(where),
		Expected: fmt.Sprintf("%d rules", want), Observed: fmt.Sprintf("%d rules", n), OK: n == want}, nil
}
