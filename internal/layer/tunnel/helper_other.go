//go:build !linux

package tunnel

import (
	"context"
	"errors"
)

// Helper returns an error. On this system the local testbed has no nodes, and the helpers of a cluster run in
// its pods, on Linux.
func (p *Protocol) Helper(context.Context) error { return errors.New("tunnels need Linux") }
