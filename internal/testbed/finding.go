package testbed

import "context"

// Status is the result of a probe.
type Status string

// These are the possible results of a probe.
const (
	Works   Status = "works"
	Refused Status = "refused" // this system does not allow it
	Missing Status = "missing" // a program is missing that can be installed
)

// Finding is one result of a probe.
type Finding struct {
	Name   string `json:"name"` // what was probed, such as "kernel" or "userspace"
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"` // reason of the status
	Hint   string `json:"hint,omitempty"`   // command that installs the missing program
}

// Tried returns the finding after a test. If the test returned an error, the status becomes Refused.
func (f Finding) Tried(err error) Finding {
	if err != nil {
		f.Status, f.Detail = Refused, err.Error()
	}
	return f
}

// AlwaysWorks returns the probe of a feature that works on every machine. detail says what the feature can be
// used with.
func AlwaysWorks(name, detail string) func(context.Context) []Finding {
	return func(context.Context) []Finding { return []Finding{{Name: name, Status: Works, Detail: detail}} }
}
