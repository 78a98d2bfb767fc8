//go:build !linux

package vault

import "errors"

var errLinux = errors.New("members run on Linux only")

func inMemory(string) (string, error) { return "", errLinux }

func execProgram(string, []string, []string) error { return errLinux }
