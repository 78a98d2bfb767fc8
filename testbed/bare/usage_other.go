//go:build !linux

package bare

import (
	"os"
	"syscall"

	"tare/testbed"
)

// tied does nothing: a program outlives a Tare that is killed.
func tied() *syscall.SysProcAttr { return nil }

// account says that what a program used is not known: systems differ in what they
// count, and whether its own children are in it.
func account(usage *testbed.Usage, _ *os.ProcessState) { usage.Unavailable = true }
