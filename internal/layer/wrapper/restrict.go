package wrapper

import (
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

// Magic is an argument that no program passes to a system call. No descriptor, address or flags have this
// value.
const Magic = 0x7a7e_7a7e_7a7e_7a7e

// Launched returns a wrapper that is Tare's launcher. The launcher restricts itself by the settings and then
// executes the subject.
func Launched(kind string, around layer.Side, s launcher.Settings, evidence ...Evidence) Wrapper {
	return Wrapper{Layer: kind, Around: around, Args: Always(s.Argument()), Evidence: evidence}
}

// Idle returns a wrapper that is a launcher without settings, for a layer with 0 rules. what says what 0
// rules mean.
func Idle(kind string, around layer.Side, what string) Wrapper {
	f := Launched(kind, around, launcher.Settings{})
	f.Unshown = "rules: 0 " + what + ": the only check is that the launcher starts programs"
	return f
}

// Makeable holds questions to the prober: may it create a file in this directory? The least harmful question
// comes first.
var Makeable = []string{"write:/tmp", "write:/var/tmp", "write:/dev/shm", "write:/run", "write:/"}

// Always returns a function that puts the same arguments before every command.
func Always(args ...string) func(testbed.Command) []string {
	return func(testbed.Command) []string { return args }
}
