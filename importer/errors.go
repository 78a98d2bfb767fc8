package importer

import "fmt"

// hinted is an error with what to do about it.
type hinted struct {
	Err  error
	Hint string // "": there is no more to say
}

func (e *hinted) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *hinted) Unwrap() error { return e.Err }

// UsageError is something that the user asked for and that makes no sense.
type UsageError struct{ hinted }

// DataError says what is wrong with the files as a whole.
type DataError struct{ hinted }

func misuse(hint, format string, args ...any) error {
	return &UsageError{hinted{fmt.Errorf(format, args...), hint}}
}
