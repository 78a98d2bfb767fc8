//go:build !linux

package residency

import (
	"context"
	"errors"
)

// look is not supported, since only Linux pods have the files.
func look(context.Context, Request) (*Report, error) { return nil, errors.ErrUnsupported }
