package runner

import (
	"context"
	"errors"

	"tare/testbed"
)

// mend makes the site of a place whole again, where it can break.
func (p *place) mend(ctx context.Context) error {
	if m, ok := testbed.As[testbed.Mender](p.bare); ok {
		return m.Mend(ctx)
	}
	return nil
}

// lost says that an error is about the surroundings of a trial: the trial is
// invalid, and the run goes on.
func lost(err error) bool {
	var disturbance *testbed.Disturbance
	return errors.As(err, &disturbance)
}
