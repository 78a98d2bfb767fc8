package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"tare/testbed"
)

// lookUp finds a program in the pod's PATH. The error names a remedy.
func lookUp(program, dir string, env []string) (string, error) {
	found, refused, path := testbed.LookUp(program, dir, env)
	switch {
	case found != "":
		return found, nil
	case refused != "":
		return "", &failure{Kind: notAllowed, Text: fmt.Sprintf("%s may not be executed", testbed.Quote([]string{refused}))}
	}
	return "", &failure{Kind: notInPath, Text: fmt.Sprintf("%s is not in the pod's PATH=%s; is it in the image?", testbed.Quote([]string{program}), path)}
}

// failureOf converts an error for sending to the client; nil stays nil.
func failureOf(err error) *failure {
	var known *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return &failure{Kind: notThere, Text: err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return &failure{Kind: notAllowed, Text: err.Error()}
	}
	return &failure{Text: err.Error()}
}

// remoteError is a failure that the agent reported, as an error in the client.
type remoteError struct {
	text string
	kind error // Go's error of the same kind, such as fs.ErrNotExist; nil for none
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// asError converts a failure that was received from the agent.
func (f *failure) asError() error {
	kinds := map[failureKind]error{notInPath: exec.ErrNotFound, notThere: fs.ErrNotExist, notAllowed: fs.ErrPermission, notKnown: ErrForgotten}
	return &remoteError{text: f.Text, kind: kinds[f.Kind]}
}
