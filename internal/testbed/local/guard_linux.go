package local

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// guardVariable is the environment variable that marks a guard, and also the cleaner that the guard becomes.
// The value 1 means that the user namespace was made for this Tare alone.
const guardVariable = "TARE_GUARD"

// guard is the state of the shell that waits for the end of this process.
var guard struct {
	mu      sync.Mutex
	cleaner []string
	shell   *exec.Cmd // nil: not started
	pipe    *os.File  // only this process holds this end of the pipe open
}

// isGuard reports whether a process is a guard, or the cleaner that a guard has become.
func isGuard(pid int) bool {
	variables, _ := process.Environment(pid)
	return slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, guardVariable+"=") })
}

// Guard sets the cleaner: a command that is run if this process dies without Dismiss, for example by kill -9.
// The cleaner must call Clean and CleanTemporary, as "tare clean" does. The direct children of this process die
// with this process, and the cleaner finds the background processes of these children. The guard is a shell
// that waits. It starts before the first program of this process.
func Guard(cleaner ...string) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.cleaner = cleaner
}

// Trials returns nil: trials can run on this system.
func Trials() error { return nil }

func raiseGuard() error {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.shell != nil || guard.cleaner == nil {
		return nil
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	defer func() { _ = reader.Close() }()
	// Nothing is ever written to the pipe. read returns when the last process that holds its other end dies.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r line; exec "$@"`, "tare-guard"}, guard.cleaner...)...)
	cmd.Stdin = reader
	alone := "0"
	if ownUserNamespace() {
		alone = "1"
	}
	cmd.Env = append(os.Environ(), guardVariable+"="+alone)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the guard goes on when the terminal closes
	if err := cmd.Start(); err != nil {
		_ = writer.Close()
		return fmt.Errorf("guard %s: %w", testbed.Quote(guard.cleaner), err)
	}
	commands.Beside(cmd.Process.Pid)
	guard.shell, guard.pipe = cmd, writer
	return nil
}

// Dismiss ends the guard without a clean-up.
func Dismiss() {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	if guard.shell == nil {
		return
	}
	_ = guard.shell.Process.Kill()
	_ = guard.shell.Wait()
	_ = guard.pipe.Close()
	guard.shell = nil
}

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

const scopeKind = "run"

func (m marker) scope() string { return m.owner.Name(scopeKind) + strconv.Itoa(m.serial) }

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

// readMarker reads the marker of a running process. ok is false if the process has no marker or has ended, or
// if this process may not read its environment.
func readMarker(pid int) (m marker, ok bool) {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		variables, unsettled := process.Environment(pid)
		if time.Since(begun) >= unsettled {
			return parseMarker(variables)
		}
	}
}

func parseMarker(variables []string) (m marker, ok bool) {
	noOwner, noProcess := fs.ErrNotExist, fs.ErrNotExist
	for _, v := range variables {
		switch name, value, _ := strings.Cut(v, "="); name {
		case ownerVariable:
			m.owner, noOwner = owned.Parse(value)
		case processVariable:
			_, noProcess = fmt.Sscanf(value, "%d-%d", &m.bed, &m.serial)
		}
	}
	return m, noOwner == nil && noProcess == nil
}
