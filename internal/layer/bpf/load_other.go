//go:build !linux

package bpf

import (
	"errors"
	"os"
)

// loaded has no programs: this system has no BPF.
type loaded struct{}

// LoadConnect works on Linux only.
func LoadConnect(*os.File, []ConnectRule, []ConnectRule) (*loaded, error) {
	return nil, errors.ErrUnsupported
}

// LoadLSM works on Linux only.
func LoadLSM(*os.File, Policy) (*loaded, error) { return nil, errors.ErrUnsupported }

// On works on Linux only.
func (*loaded) On() error { return errors.ErrUnsupported }

// Off has nothing to detach.
func (*loaded) Off() error { return nil }

// Close has nothing to unload.
func (*loaded) Close() error { return nil }

// Counts has nothing to count.
func (*loaded) Counts() ([]count, error) { return nil, nil }

// AttachedTo returns "": no program can be attached.
func (*loaded) AttachedTo(*os.File) (string, error) { return "", nil }
