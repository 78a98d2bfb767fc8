//go:build !linux

package privileges

import "errors"

func drop(dropped) error { return errors.ErrUnsupported }

func noNewPrivs(struct{}) error { return errors.ErrUnsupported }
