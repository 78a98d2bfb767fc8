package cli

import (
	"errors"

	"tare/internal/run/journal"
	"tare/internal/run/machine"
	"tare/internal/testbed"
)

// The system limits that commands need, with a wide margin. A command that starts below them could fail in the
// middle.
var (
	toMeasure = machine.Needs{machine.OpenFiles: 256, machine.Processes: 128, machine.VirtualMemory: 2 << 30}
	toImport  = machine.Needs{machine.OpenFiles: 64, machine.Processes: 64, machine.VirtualMemory: 2 << 30}
)

// enough returns an error if the system's limits are below a command's needs.
func enough(needs machine.Needs) error {
	err := machine.CheckLimits(needs)
	var limit *machine.LimitError
	if errors.As(err, &limit) {
		return hinted(err, "%s", limit.Hint())
	}
	return err
}

// limitHint names the limit that an error is about; "" if there is none. The error of a record that could not
// be written has its own text.
func limitHint(err error) string {
	limit, reached := machine.Exhausted(err)
	var unwritten *journal.WriteError
	if !reached || limit == machine.FileSize && errors.As(err, &unwritten) {
		return ""
	}
	return limit.Reached()
}

// limitsKind is the kind of the part that describes a run's limits.
const limitsKind = "limits"

// limits returns the findings of tare doctor about the limits.
func limits() part {
	f := testbed.Finding{Name: "of the system", Status: testbed.Works, Detail: "enough for a run: open files, processes, virtual memory"}
	var limit *machine.LimitError
	if errors.As(machine.CheckLimits(toMeasure), &limit) {
		f.Status, f.Detail, f.Hint = testbed.Refused, limit.Error(), limit.Hint()
	}
	return part{limitsKind, "a process's", []testbed.Finding{f}}
}
