//go:build !linux

package bpf

import (
	"errors"
	"os"
)

// Loaded are programs of one arm; on this system there are none.
type Loaded struct{}

// LoadConnect is for Linux alone.
func LoadConnect(*os.File, []Place, []Place) (*Loaded, error) { return nil, errors.ErrUnsupported }

// LoadLSM is for Linux alone.
func LoadLSM(*os.File, Policy) (*Loaded, error) { return nil, errors.ErrUnsupported }

// On is for Linux alone.
func (*Loaded) On() error { return errors.ErrUnsupported }

// Off has nothing to detach.
func (*Loaded) Off() error { return nil }

// Close has nothing to let go.
func (*Loaded) Close() error { return nil }

// Counts has nothing to count.
func (*Loaded) Counts() ([]Count, error) { return nil, nil }

// AttachedTo knows of none.
func (*Loaded) AttachedTo(*os.File) (string, error) { return "", nil }
