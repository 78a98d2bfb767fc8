//go:build !linux

package syscalls

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/testbed"
)

var errLinux = errors.New("the probe is a program for Linux")

func execute(context.Context, request) error { return errLinux }

func errorText(errno uint64) string { return fmt.Sprintf("error %d", errno) }

func signalText(signal int) string { return fmt.Sprintf("signal %d", signal) }

func probe(context.Context) []testbed.Finding {
	return []testbed.Finding{{Name: name, Status: testbed.Refused, Detail: errLinux.Error()}}
}
