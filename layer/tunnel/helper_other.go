//go:build !linux

package tunnel

import (
	"context"
	"errors"
)

// Helper is not started on this system, whose local testbed has no nodes. Helpers in the pods of a cluster run there.
func (p *Protocol) Helper(context.Context) error { return errors.New("tunnels need Linux") }
