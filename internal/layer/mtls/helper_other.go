//go:build !linux

package mtls

import (
	"context"
	"errors"
)

// Helper returns an error: on this system the local testbed has no pods.
func Helper(context.Context) error { return errors.New("the redirection to proxies needs Linux") }
