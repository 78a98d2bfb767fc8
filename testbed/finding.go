package testbed

import "context"

// Status is what a probe found.
type Status string

// The three things that doctor can say.
const (
	Works   Status = "works"
	Refused Status = "refused" // by this system
	Missing Status = "missing" // something that can be installed
)

// Finding is one answer of a probe.
type Finding struct {
	Name   string `json:"name"` // "kernel", "userspace"
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"` // why
	Hint   string `json:"hint,omitempty"`   // the command that installs what is missing
}

// Tried is the finding once it was tried: refused, where that gave an error.
func (f Finding) Tried(err error) Finding {
	if err != nil {
		f.Status, f.Detail = Refused, err.Error()
	}
	return f
}

// AlwaysWorks is the probe of what works on every machine; detail says what it is for.
func AlwaysWorks(name, detail string) func(context.Context) []Finding {
	return func(context.Context) []Finding { return []Finding{{Name: name, Status: Works, Detail: detail}} }
}
