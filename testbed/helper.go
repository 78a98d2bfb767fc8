package testbed

import "os"

// HelperVariable selects the layer whose Helper this process is to run instead
// of the command line. See HelperCommand.
const HelperVariable = "TARE_HELPER"

// HelperCommand starts this program again as the named layer's own process.
// It reads its orders from stdin and ends when stdin does.
func HelperCommand(layer string) Command {
	return Command{Args: []string{"/proc/self/exe"}, Env: []string{HelperVariable + "=" + layer}}
}

// Helper is the layer whose Helper this process was started for, or "".
func Helper() string { return os.Getenv(HelperVariable) }
