//go:build !linux

package launcher

import (
	"context"
	"errors"
	"os"

	"tare/internal/testbed"
)

// Helper fails on this system.
var Helper = testbed.Helper{Name: "launcher", Run: func(context.Context) error { return errors.ErrUnsupported }}

func (*prepared) open([]byte) (string, error) { return "", errors.ErrUnsupported }

func (*Seccomp) filter() ([]byte, error) { return nil, errors.ErrUnsupported }

func (*Landlock) ruleset() (*os.File, error) { return nil, errors.ErrUnsupported }

func (*prepared) contain(*Bundle, []string, []string, string) error { return errors.ErrUnsupported }
