package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// limit is a limit of the system for each process. Its value is the letter by which the shell's command ulimit selects
// it.
type limit byte

// The limits that Tare can reach.
const (
	OpenFiles     limit = 'n' // number of open files
	Processes     limit = 'u' // number of processes and threads of one user
	VirtualMemory limit = 'v' // address space, in bytes; Go reserves more than it uses
	FileSize      limit = 'f' // size of a file, in bytes
)

// Needs maps limits to their lowest values with which an operation works.
type Needs map[limit]uint64

// LimitError reports a limit that is lower than needed.
type LimitError struct {
	Limit           limit
	Allowed, Needed uint64
}

// Error names the limit.
func (e *LimitError) Error() string {
	switch e.Limit {
	case OpenFiles:
		return fmt.Sprintf("only %d files may be open at a time (ulimit -n), and %d are needed", e.Allowed, e.Needed)
	case Processes:
		return fmt.Sprintf("only %d processes and threads of this user may run (ulimit -u), and %d are needed", e.Allowed, e.Needed)
	case VirtualMemory:
		return fmt.Sprintf("a process may have only %d MiB of virtual memory (ulimit -v), and %d MiB are needed", e.Allowed>>20, e.Needed>>20)
	}
	return fmt.Sprintf("ulimit -%c is %d, and %d is needed", e.Limit, e.Allowed, e.Needed)
}

// Hint advises the user how to raise the limit, and names the command for it.
func (e *LimitError) Hint() string {
	needed := e.Needed
	if e.Limit == VirtualMemory {
		needed >>= 10 // the shell's ulimit counts in KiB
	}
	return fmt.Sprintf("allow more in the shell that starts Tare: ulimit -%c %d; where that is refused, the limit comes from the login, the service or the container", e.Limit, needed)
}

// CheckLimits returns a *LimitError if a limit of this process is lower than needed.
func CheckLimits(needs Needs) error {
	for _, l := range []limit{OpenFiles, Processes, VirtualMemory} {
		if allowed, known := l.allowed(); known && allowed < needs[l] {
			return &LimitError{l, allowed, needs[l]}
		}
	}
	return nil
}

// Exhausted returns the limit of this process that caused an error; false: no limit did. After an error by a limit,
// later operations will fail at the limit.
func Exhausted(err error) (limit, bool) {
	switch start, is := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, syscall.EMFILE):
		return OpenFiles, true
	case errors.Is(err, syscall.EFBIG):
		return FileSize, true
	case errors.Is(err, syscall.EAGAIN) && is && start.Op == "fork/exec":
		return Processes, true
	}
	return 0, false
}

// Reached states that the limit was reached, and how to raise it.
func (l limit) Reached() string {
	what := map[limit]string{
		OpenFiles: "open files", Processes: "processes and threads of this user", VirtualMemory: "virtual memory of a process", FileSize: "the size of a file",
	}[l]
	text := fmt.Sprintf("that is the limit on %s (ulimit -%c)", what, l)
	if allowed, known := l.allowed(); known {
		text += fmt.Sprintf(", which is %d", allowed)
		if l == FileSize {
			text += " bytes"
		}
	}
	return text + ": raise it in the shell that starts Tare"
}
