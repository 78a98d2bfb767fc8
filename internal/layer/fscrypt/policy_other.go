//go:build !linux

package fscrypt

import "errors"

func encrypt(string, Mode) error { return errors.ErrUnsupported }

func policy(string) (string, error) { return "", errors.ErrUnsupported }
