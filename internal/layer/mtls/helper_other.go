//go:build !linux

package mtls

import (
	"context"
	"errors"
)

// On this system the local testbed has no pods.
func help(context.Context) error { return errors.New("the redirection to proxies needs Linux") }
