//go:build !linux

package tunnel

import (
	"context"
	"errors"
)

// Helper returns an error: the local testbed has no nodes here, and the pods of a cluster run Linux.
func (p *Protocol) Helper(context.Context) error { return errors.New("tunnels need Linux") }
