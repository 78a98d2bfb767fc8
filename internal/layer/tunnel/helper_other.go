//go:build !linux

package tunnel

import (
	"context"
	"errors"
)

// Helper returns an error: on this system the local testbed has no nodes, and helpers of a cluster run in its pods.
func (p *Protocol) Helper(context.Context) error { return errors.New("tunnels need Linux") }
