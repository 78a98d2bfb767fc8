package testbed

import "os"

// HelperVariable selects the layer whose Helper this process is to run instead
// of the command line. See HelperCommand.
const HelperVariable = "TARE_HELPER"

// HelperCommand starts this program again, on this machine, as the named layer's own
// process. It reads its orders from stdin and ends when stdin does.
func HelperCommand(layer string) Command {
	return Command{Args: []string{"/proc/self/exe"}, Env: []string{HelperVariable + "=" + layer}}
}

// HelperAt is HelperCommand at a place of a site.
func HelperAt(site Site, where Place, layer string) Command {
	cmd := HelperCommand(layer)
	if remote, ok := As[Remote](site); ok && remote.Self(where) != "" {
		cmd.Args = []string{remote.Self(where)}
	}
	return cmd
}

// Helper is the layer whose Helper this process was started for, or "".
func Helper() string { return os.Getenv(HelperVariable) }
