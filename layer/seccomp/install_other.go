//go:build !linux

package seccomp

import "errors"

func install(parameters) error { return errors.ErrUnsupported }
