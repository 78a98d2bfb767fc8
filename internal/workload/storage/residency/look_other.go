//go:build !linux

package residency

import (
	"context"
	"errors"
)

// look does nothing here. The files are in pods, which run on Linux only.
func look(context.Context, Request) (*Report, error) { return nil, errors.ErrUnsupported }
