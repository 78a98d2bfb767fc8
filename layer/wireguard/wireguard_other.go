//go:build !linux

package wireguard

import (
	"context"
	"errors"
)

// errSystem says that there is no tunnel on this system, whose local testbed has
// no nodes either. Those in the pods of a cluster are made by helpers that run there.
var errSystem = errors.New("the tunnel between nodes needs Linux")

// choose finds no way to open an end of the tunnel.
func choose(Implementation, surroundings) (opener, error) { return nil, errSystem }

// Helper is not started on this system.
func Helper(context.Context) error { return errSystem }
