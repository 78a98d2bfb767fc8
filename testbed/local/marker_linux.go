package local

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
	"tare/testbed/process"
)

// The variables that every command carries.
const (
	ownerVariable   = "TARE_OWNER"   // which Tare started it
	processVariable = "TARE_PROCESS" // which of its commands it belongs to
)

// owner names a process for all time until the next boot: process ids are
// reused, and mean something else in another process id namespace.
type owner struct {
	pid   int
	start uint64 // start time in ticks since boot
	space uint64 // inode of the process id namespace
}

// marker is what a command carries in its environment, and hands on to all its
// descendants unless they clear theirs.
type marker struct {
	owner  owner
	bed    int // which testbed of the owner
	serial int // which command of the owner
}

func (o owner) String() string { return fmt.Sprintf("%d-%d-%d", o.pid, o.start, o.space) }

// parseOwner reads what String writes.
func parseOwner(text string) (o owner, err error) {
	_, err = fmt.Sscanf(text, "%d-%d-%d", &o.pid, &o.start, &o.space)
	if err != nil || o.pid <= 0 || o.String() != text {
		return owner{}, fmt.Errorf("%q does not name a process as PID-START-NAMESPACE", text)
	}
	return o, nil
}

// thisProcess names this process.
func thisProcess() (owner, error) {
	stat, err := proc.Read(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("read own start time (is /proc mounted for this process id namespace?): %w", err)
	}
	var ns unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &ns); err != nil {
		return owner{}, fmt.Errorf("read own process id namespace: %w", err)
	}
	return owner{pid: os.Getpid(), start: stat.Starttime, space: ns.Ino}, nil
}

// alive says whether that process still runs. It must be in our process id
// namespace.
func (o owner) alive() bool {
	stat, err := proc.Read(o.pid)
	return err == nil && stat.Starttime == o.start && !stat.Gone()
}

// scopePrefix begins the names of cgroups of commands.
const scopePrefix = "tare-run-"

// scope is the name of the command's cgroup.
func (m marker) scope() string { return fmt.Sprintf("%s%s-%d", scopePrefix, m.owner, m.serial) }

// ownerIn is the owner of the cgroup of a command, or of a directory, by its name.
func ownerIn(prefix, name string) (o owner, ok bool) {
	text, ok := strings.CutPrefix(name, prefix)
	last := strings.LastIndexByte(text, '-')
	if !ok || last < 0 {
		return o, false
	}
	o, err := parseOwner(text[:last])
	return o, err == nil
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
			m.owner, err = parseOwner(value)
			haveOwner = err == nil
		case processVariable:
			_, err = fmt.Sscanf(value, "%d-%d", &m.bed, &m.serial)
			haveProcess = err == nil
		}
	}
	return m, haveOwner && haveProcess
}
