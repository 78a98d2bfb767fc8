//go:build !linux

package landlock

import "errors"

func restrict(parameters) error { return errors.ErrUnsupported }
