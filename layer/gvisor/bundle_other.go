//go:build !linux

package gvisor

import (
	"context"
	"errors"
)

func become(context.Context) error { return errors.ErrUnsupported }
