//go:build !linux

package bpf

import (
	"errors"
	"os"
)

type loaded struct{} // empty: this system has no BPF, so there is nothing to hold

// LoadConnect works on Linux only.
func LoadConnect(*os.File, []ConnectRule, []ConnectRule) (*loaded, error) {
	return nil, errors.ErrUnsupported
}

// LoadLSM works on Linux only.
func LoadLSM(*os.File, Policy) (*loaded, error) { return nil, errors.ErrUnsupported }

func (*loaded) On() error                           { return errors.ErrUnsupported }
func (*loaded) Off() error                          { return nil }
func (*loaded) Close() error                        { return nil }
func (*loaded) Counts() ([]count, error)            { return nil, nil }
func (*loaded) AttachedTo(*os.File) (string, error) { return "", nil }
