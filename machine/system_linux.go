package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// thisMachine describes the machine by its files and system calls.
func thisMachine() *Environment {
	e := describe("/")
	var affinity unix.CPUSet
	if unix.SchedGetaffinity(0, &affinity) == nil {
		e.CPU.Usable = affinity.Count()
	}
	e.Notes = append(e.Notes, affinityNotes(e)...)
	return e
}

// affinityNotes returns a note if Tare may not use all processors.
func affinityNotes(e *Environment) []string {
	if e.CPU.Usable == 0 || e.CPU.Usable >= e.CPU.Online {
		return nil
	}
	return []string{fmt.Sprintf("Tare may use %d of %d processors", e.CPU.Usable, e.CPU.Online)}
}
