package reference

import (
	"context"

	"tare/experiment"
)

// Text is a value that may refer to others, such as a token.
type Text string

// References lists what it takes from elsewhere.
func (t Text) References() []Reference { return In(string(t)) }

// Validate says what is wrong with it, by its field.
func (t Text) Validate(field string) []experiment.FieldError {
	var errs experiment.FieldErrors
	if err := Check(string(t)); err != nil {
		errs.Add(field, "%v", err)
	}
	return errs
}

// Resolve gives the value in force.
func (t Text) Resolve(ctx context.Context) (string, error) { return Resolve(ctx, string(t)) }
