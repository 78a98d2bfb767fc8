package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"tare/testbed"
)

// lookUp finds a program, or says what is to be done.
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

// failureOf is an error on its way to the client; nil for none.
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

// remoteError is a failure as the client's caller gets it: its text, and the
// error of Go's that it stands for.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

func (f *failure) asError() error {
	kinds := map[failureKind]error{notInPath: exec.ErrNotFound, notThere: fs.ErrNotExist, notAllowed: fs.ErrPermission, notKnown: ErrForgotten}
	return &remoteError{text: f.Text, is: kinds[f.Kind]}
}
