package cli

import (
	"errors"
	"os"

	"tare/experiment"
	"tare/testbed/local"
)

// inNamespace starts this command again in a user namespace where it may set up
// a network, if it needs to, and then ends this one with the other's exit code.
// Otherwise it returns nil, and the command goes on.
func inNamespace(needed bool) error {
	if !needed || !local.NeedsUserNamespace() || os.Getenv(local.UserNamespaceVariable) != "" {
		return nil
	}
	code, err := local.EnterUserNamespace(os.Args[1:]...)
	if err != nil {
		return hinted(err, "tare doctor says what this system allows; as root Tare does without a user namespace")
	}
	return exit(code)
}

// tryNamespace is inNamespace for commands that only ask what works: where the
// system refuses, they go on and say so.
func tryNamespace() error {
	var code exit
	if err := inNamespace(true); errors.As(err, &code) {
		return code
	}
	return nil
}

// needsNetwork says whether an experiment needs nodes with a network.
func needsNetwork(x *experiment.Expansion) bool {
	return neededBy(unexpanded(x))("testbed", "local")
}
