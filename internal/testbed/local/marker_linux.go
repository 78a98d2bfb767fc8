package local

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed/process"
)

// These variables are in the environment of every command.
const (
	ownerVariable   = "TARE_OWNER"   // identifies the Tare that started the command
	processVariable = "TARE_PROCESS" // identifies the command
)

// marker identifies a command, in the command's environment. All descendants inherit it, unless they clear
// their environment.
type marker struct {
	owner  owned.Owner
	bed    int // number of the owner's testbed
	serial int // number of the owner's command
}

// scopeKind is the kind that the names of commands' cgroups contain.
const scopeKind = "run"

// scope is the name of the command's cgroup.
func (m marker) scope() string { return m.owner.Name(scopeKind) + strconv.Itoa(m.serial) }

// ownerOfScope returns the owner of a command's cgroup, from its name.
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

// readMarker reads the marker of a running process. ok is false if the process has no marker, if it has
// ended, or if this process may not read its environment.
func readMarker(pid int) (m marker, ok bool) {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		variables, unsettled := process.Environment(pid)
		if time.Since(begun) >= unsettled {
			return parseMarker(variables)
		}
	}
}

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
