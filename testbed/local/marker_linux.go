package local

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/machine/owned"
	"tare/testbed/process"
)

// The variables that every command carries.
const (
	ownerVariable   = "TARE_OWNER"   // which Tare started it
	processVariable = "TARE_PROCESS" // which of its commands it belongs to
)

// marker is what a command carries in its environment, and hands on to all its
// descendants unless they clear theirs.
type marker struct {
	owner  owned.Owner
	bed    int // which testbed of the owner
	serial int // which command of the owner
}

// scopeKind is what the cgroups of commands are called in their names.
const scopeKind = "run"

// scope is the name of the command's cgroup.
func (m marker) scope() string { return m.owner.Name(scopeKind) + strconv.Itoa(m.serial) }

// ownerOfScope is the owner of the cgroup of a command, by its name.
func ownerOfScope(name string) (owned.Owner, bool) {
	o, kind, ok := owned.Of(name)
	return o, ok && kind == scopeKind
}

func (m marker) environment() []string {
	return []string{
		ownerVariable + "=" + m.owner.String(),
		fmt.Sprintf("%s=%d-%d", processVariable, m.bed, m.serial),
	}
}

// readMarker reads the marker of a running process. ok is false for one that
// has none, that has ended, or whose environment is not ours to read.
func readMarker(pid int) (m marker, ok bool) {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		variables, unsettled := process.Environment(pid)
		if time.Since(begun) >= unsettled {
			return parseMarker(variables)
		}
	}
}

// parseMarker finds the marker among the variables of a process.
func parseMarker(variables []string) (m marker, ok bool) {
	var haveOwner, haveProcess bool
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		var err error
		switch name {
		case ownerVariable:
			m.owner, err = owned.Parse(value)
			haveOwner = err == nil
		case processVariable:
			_, err = fmt.Sscanf(value, "%d-%d", &m.bed, &m.serial)
			haveProcess = err == nil
		}
	}
	return m, haveOwner && haveProcess
}
