package cli

import (
	"errors"

	"tare/journal"
	"tare/machine"
	"tare/testbed"
)

// What commands need of what the system limits, with much to spare: to begin with less
// would be to end in the middle.
var (
	toMeasure = machine.Needs{machine.OpenFiles: 256, machine.Processes: 128, machine.VirtualMemory: 2 << 30}
	toImport  = machine.Needs{machine.OpenFiles: 64, machine.Processes: 64, machine.VirtualMemory: 2 << 30}
)

// enough is an error where the system allows less than a command needs.
func enough(needs machine.Needs) error {
	err := machine.CheckLimits(needs)
	var limit *machine.LimitError
	if errors.As(err, &limit) {
		return hinted(err, "%s", limit.Hint())
	}
	return err
}

// limitHint says which limit an error is about, "" for none. A record that could not
// be written says so itself.
func limitHint(err error) string {
	limit, reached := machine.Exhausted(err)
	var unwritten *journal.WriteError
	if !reached || limit == machine.FileSize && errors.As(err, &unwritten) {
		return ""
	}
	return limit.Reached()
}

// limitsKind is the kind of part that the limits of a run are.
const limitsKind = "limits"

// limits is what tare doctor says of them.
func limits() part {
	f := testbed.Finding{Name: "of the system", Status: testbed.Works, Detail: "enough for a run: open files, processes, virtual memory"}
	var limit *machine.LimitError
	if errors.As(machine.CheckLimits(toMeasure), &limit) {
		f.Status, f.Detail, f.Hint = testbed.Refused, limit.Error(), limit.Hint()
	}
	return part{limitsKind, "a process's", []testbed.Finding{f}}
}
