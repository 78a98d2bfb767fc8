package testbed

import "context"

// Disturbance is an error that spoils the trial under way and says nothing about
// what is measured: the surroundings were lost (a pod was evicted, its node went
// away, the connection to it broke). The run goes on once the site is mended.
type Disturbance struct {
	What string // "pod tare-1/client on node-2 cannot be reached"
	Err  error
}

// Error says what was lost, and why.
func (e *Disturbance) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *Disturbance) Unwrap() error { return e.Err }

// Mender is a site that may break while it is up, and can be made whole again.
type Mender interface {
	// Mend looks, before a trial, whether the site is whole, and makes again what
	// is lost. It costs next to nothing while all is well. A *Disturbance says
	// that it is not whole yet, so that the trial cannot be valid; any other
	// error, that it will never be.
	Mend(ctx context.Context) error
}
