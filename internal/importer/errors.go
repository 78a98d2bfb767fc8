package importer

import "fmt"

// hinted is an error with a hint for the user.
type hinted struct {
	Err  error
	Hint string // advice for the user; may be empty
}

func (e *hinted) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *hinted) Unwrap() error { return e.Err }

// UsageError is an error in the options of an import, such as a name that no file has.
type UsageError struct{ hinted }

// DataError is an error of the files as a whole, such as files that hold no result.
type DataError struct{ hinted }

func misuse(hint, format string, args ...any) error {
	return &UsageError{hinted{fmt.Errorf(format, args...), hint}}
}
