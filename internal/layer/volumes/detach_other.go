//go:build !linux

package volumes

import "errors"

func detach(string) error { return errors.ErrUnsupported }
