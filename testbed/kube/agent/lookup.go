package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"tare/testbed"
)

// lookUp finds a program, or says what is to be done.
func lookUp(program, dir string, env []string) (string, *failure) {
	found, refused, path := testbed.LookUp(program, dir, env)
	switch {
	case found != "":
		return found, nil
	case refused != "":
		return "", &failure{Kind: notAllowed, Text: fmt.Sprintf("%s may not be executed", testbed.Quote([]string{refused}))}
	}
	return "", &failure{Kind: notInPath, Text: fmt.Sprintf("%s is not in the pod's PATH=%s; is it in the image?", testbed.Quote([]string{program}), path)}
}

// kindOf is what is left of an error's kind on its way to the client.
func kindOf(err error) failureKind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notThere
	case errors.Is(err, fs.ErrPermission):
		return notAllowed
	}
	return ""
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
