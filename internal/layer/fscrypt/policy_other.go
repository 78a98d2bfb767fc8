//go:build !linux

package fscrypt

import "errors"

func encrypt(string, mode) error { return errors.ErrUnsupported }

func policy(string) (string, error) { return "", errors.ErrUnsupported }
