package front

import (
	"tare/testbed"
	"tare/testbed/launcher"
)

// Magic is an argument that no program gives to a system call: no descriptor, no address and no
// flags look like it.
const Magic = 0x7a7e_7a7e_7a7e_7a7e

// Restricting puts a launcher in front of every command that restricts itself and becomes the command.
func Restricting(s launcher.Settings) func(testbed.Command) []string { return Always(s.Argument()) }

// Always gives the same program and arguments before every command.
func Always(args ...string) func(testbed.Command) []string {
	return func(testbed.Command) []string { return args }
}
