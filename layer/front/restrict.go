package front

import (
	"encoding/json"
	"fmt"

	"tare/testbed"
)

// Magic is an argument that no program gives to a system call: no descriptor, no address and no
// flags look like it.
const Magic = 0x7a7e_7a7e_7a7e_7a7e

// Restricting gives the program and the arguments of a front that is the helper of a layer: a
// process of Tare's own that restricts itself and then becomes the command (Become). To start it
// takes CPU time that a program started without it does not take.
func Restricting(kind string, parameters any) []string {
	text, err := json.Marshal(parameters)
	if err != nil {
		panic(fmt.Sprintf("the parameters of layer %s: %v", kind, err)) // they are plain values
	}
	return append(testbed.HelperArguments(kind), string(text))
}

// Always gives the same program and arguments before every command.
func Always(args ...string) func(testbed.Command) []string {
	return func(testbed.Command) []string { return args }
}
