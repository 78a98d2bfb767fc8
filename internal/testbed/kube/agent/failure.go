package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"tare/internal/testbed"
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
	return "", &failure{Kind: notInPath, Text: fmt.Sprintf("%s is not in the pod's PATH=%s; is it in the image?",
		testbed.Quote([]string{program}), path)}
}

// failureOf converts an error into a failure that can be sent to the client; nil stays nil.
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

func (f *failure) Error() string { return f.Text }

// Unwrap returns the Go error for the kind of failure; nil if there is none.
func (f *failure) Unwrap() error {
	return map[failureKind]error{
		notInPath: exec.ErrNotFound, notThere: fs.ErrNotExist, notAllowed: fs.ErrPermission, notKnown: ErrForgotten,
	}[f.Kind]
}
