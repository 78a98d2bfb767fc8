package front

import (
	"tare/layer"
	"tare/testbed"
	"tare/testbed/launcher"
)

// Magic is an argument that no program gives to a system call: no descriptor, no address and no
// flags look like it.
const Magic = 0x7a7e_7a7e_7a7e_7a7e

// Launched is a launcher in front of every command, which restricts itself by the settings and becomes the command.
func Launched(kind string, around layer.Around, s launcher.Settings, evidence ...Evidence) Front {
	return Front{Layer: kind, Around: around, Args: Always(s.Argument()), Evidence: evidence}
}

// Idle is a launcher without settings, where a layer of so many rules has none: what says what those would make.
func Idle(kind string, around layer.Around, what string) Front {
	f := Launched(kind, around, launcher.Settings{})
	f.Unshown = "rules: 0 " + what + ": there is nothing to show but that the launcher starts programs"
	return f
}

// Makeable are files that programs could make, as questions to the prober: the most harmless first.
var Makeable = []string{"write:/tmp", "write:/var/tmp", "write:/dev/shm", "write:/run", "write:/"}

// Always gives the same program and arguments before every command.
func Always(args ...string) func(testbed.Command) []string {
	return func(testbed.Command) []string { return args }
}
