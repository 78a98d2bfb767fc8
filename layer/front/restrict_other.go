//go:build !linux

package front

import (
	"context"
	"errors"
)

// Become is for Linux alone.
func Become[P any](func(P) error) func(context.Context) error {
	return func(context.Context) error { return errors.ErrUnsupported }
}
