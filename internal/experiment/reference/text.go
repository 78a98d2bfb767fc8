package reference

import (
	"context"

	"tare/internal/experiment"
)

// Text is a value that may contain references, such as a token.
type Text string

// References lists the references in the value.
func (t Text) References() []Reference { return In(string(t)) }

// Validate returns the problems of the value, by its field.
func (t Text) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if err := Check(string(t)); err != nil {
		errs.Add(field, "%v", err)
	}
	return errs
}

// Resolve returns the value with its references replaced.
func (t Text) Resolve(ctx context.Context) (string, error) { return Resolve(ctx, string(t)) }
