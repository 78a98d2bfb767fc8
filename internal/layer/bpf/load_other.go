//go:build !linux

package bpf

import (
	"errors"
	"os"
)

// Loaded has no programs: this system has no BPF.
type Loaded struct{}

// LoadConnect works on Linux only.
func LoadConnect(*os.File, []ConnectRule, []ConnectRule) (*Loaded, error) {
	return nil, errors.ErrUnsupported
}

// LoadLSM works on Linux only.
func LoadLSM(*os.File, Policy) (*Loaded, error) { return nil, errors.ErrUnsupported }

// On works on Linux only.
func (*Loaded) On() error { return errors.ErrUnsupported }

// Off has nothing to detach.
func (*Loaded) Off() error { return nil }

// Close has nothing to unload.
func (*Loaded) Close() error { return nil }

// Counts has nothing to count.
func (*Loaded) Counts() ([]Count, error) { return nil, nil }

// AttachedTo returns "": no program can be attached.
func (*Loaded) AttachedTo(*os.File) (string, error) { return "", nil }
