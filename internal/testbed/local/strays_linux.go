package local

import (
	"context"
	"errors"
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

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/internal/lists"
	"tare/internal/run/machine/owned"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// Strays lists the processes left by Tare processes that have ended. Root gets the strays of all users, other users
// only their own.
func Strays() ([]Stray, error) {
	self, err := owned.This()
	if err != nil {
		return nil, fmt.Errorf("strays: %w", err)
	}
	var strays []Stray
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		m, ok := ownMarked(p.PID, self)
		if !ok || !m.owner.Orphaned(self) {
			continue
		}
		// A process that is ending has no command line any more, and is left out.
		if s := describe(p.PID, m); s.Command != "" {
			strays = append(strays, s)
		}
	}
	for _, group := range orphanedScopes(self) {
		for _, stray := range straysIn(group) {
			if !slices.ContainsFunc(strays, func(s Stray) bool { return s.PID == stray.PID }) {
				strays = append(strays, stray)
			}
		}
	}
	return strays, nil
}

// Clean kills all strays and those started meanwhile, waits for their end, and returns them. Markers are read twice,
// since process ids may be reused.
func Clean(ctx context.Context) ([]Stray, error) {
	self, err := owned.This()
	if err != nil {
		return nil, fmt.Errorf("clean: %w", err)
	}
	ended, err := endMarked(ctx, func(m marker) bool { return m.owner.Orphaned(self) })
	for _, group := range orphanedScopes(self) {
		ended = append(ended, straysIn(group)...)
		err = errors.Join(err, group.Remove())
	}
	if os.Getenv(guardVariable) == "1" {
		others, bad := endNamespace()
		ended, err = append(ended, others...), errors.Join(err, bad)
	}
	return ended, err
}

// endNamespace kills all other processes in this user namespace, for at most endLimit. Only the guard of a Tare with
// its own user namespace may call it.
func endNamespace() (ended []Stray, err error) {
	own, err := userNamespace(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("clean: own user namespace: %w", err)
	}
	defer func() { _ = own.Close() }()
	deadline := time.Now().Add(endLimit)
	for found := true; found && time.Now().Before(deadline); {
		found = false
		processes, _ := procfs.AllProcs()
		for _, p := range processes {
			stat, err := proc.Read(p.PID)
			if p.PID == os.Getpid() || err != nil || stat.Dead() || !below(p.PID, inode(own)) {
				continue
			}
			found = true
			ended = append(ended, describe(p.PID, marker{}))
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
		time.Sleep(time.Millisecond)
	}
	return ended, nil
}

func orphanedScopes(self owned.Owner) []*process.Group {
	all := scopes()
	if all == nil {
		return nil
	}
	return all.Left(func(name string) bool {
		o, ok := ownerOfScope(name)
		return ok && o.Orphaned(self)
	})
}

func straysIn(group *process.Group) []Stray {
	owner, _ := ownerOfScope(group.Name())
	return lists.Map(group.Processes(), func(pid int) Stray { return describe(pid, marker{owner: owner}) })
}

// ownMarked returns the marker of another process of this user (root: of any user). It is in the environment or in a
// resource limit (owned.Marked).
func ownMarked(pid int, self owned.Owner) (marker, bool) {
	if pid == self.PID() {
		return marker{}, false
	}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &st); err != nil || int(st.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return marker{}, false
	}
	if m, ok := readMarker(pid); ok {
		return m, true
	}
	o, ok := owned.Marked(pid, self)
	return marker{owner: o}, ok && !isGuard(pid)
}

func describe(pid int, m marker) Stray {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	command := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	return Stray{PID: pid, Command: command, Owner: m.owner.String()}
}

// endMarked kills all processes whose marker the function meant accepts, and waits for their end. It repeats this until
// a search finds none.
func endMarked(ctx context.Context, meant func(marker) bool) ([]Stray, error) {
	self, err := owned.This()
	if err != nil {
		return nil, err
	}
	var ended []Stray
	for {
		before := len(ended)
		var errs []error // errors about processes that do not end
		processes, _ := procfs.AllProcs()
		for _, p := range processes {
			stray, ok, err := endOne(ctx, p.PID, self, meant)
			switch {
			case ctx.Err() != nil:
				return ended, ctx.Err()
			case err != nil:
				errs = append(errs, err)
			case ok:
				ended = append(ended, stray)
			}
		}
		if len(ended) == before {
			return ended, errors.Join(errs...)
		}
	}
}

func endOne(ctx context.Context, pid int, self owned.Owner, meant func(marker) bool) (Stray, bool, error) {
	if m, ok := ownMarked(pid, self); !ok || !meant(m) {
		return Stray{}, false, nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return Stray{}, false, nil
	case err != nil:
		return Stray{}, false, fmt.Errorf("hold process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(fd) }()
	m, ok := ownMarked(pid, self)
	if !ok || !meant(m) {
		return Stray{}, false, nil
	}
	stray := describe(pid, m)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return Stray{}, false, fmt.Errorf("kill stray process %d (%s): %w", pid, stray.Command, err)
	}
	return stray, true, awaitEnd(ctx, fd, stray)
}

// endLimit is how long a killed process may take to end. A process that waits for a disk ends only after the wait.
var endLimit = 10 * time.Second

func awaitEnd(ctx context.Context, fd int, stray Stray) error {
	deadline := time.Now().Add(endLimit)
	for time.Now().Before(deadline) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50); n > 0 {
			// The process can be reaped only if it has become a child of this process.
			_, _ = unix.Wait4(stray.PID, nil, unix.WNOHANG, nil)
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) was killed but does not end: the kernel holds it", stray.PID, stray.Command)
}

// guardVariable is set for a guard and its cleaner. 1: the user namespace was made only for the Tare process that the
// guard watches.
const guardVariable = "TARE_GUARD"

// guard is the state of this process's guard, a shell that waits for the end of this process.
var guard struct {
	mu      sync.Mutex
	cleaner []string
	shell   *exec.Cmd // process of the shell; nil: not started
	pipe    *os.File  // write end of the pipe, held by this process alone: it closes when the process ends
}

func isGuard(pid int) bool {
	variables, _ := process.Environment(pid)
	return slices.ContainsFunc(variables, func(v string) bool { return strings.HasPrefix(v, guardVariable+"=") })
}

// Guard sets the cleaner: a command that runs if this process dies without Dismiss, for example by kill -9. The cleaner
// must call Clean and CleanTemporary. The guard, a shell, starts before the first program.
func Guard(cleaner ...string) {
	guard.mu.Lock()
	defer guard.mu.Unlock()
	guard.cleaner = cleaner
}

// Trials returns nil, since trials can run on this system.
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
	// Nothing is ever written to the pipe. The shell's read returns when the process that holds the other end dies.
	cmd := exec.Command("/bin/sh", append([]string{"-c", `read -r line; exec "$@"`, "tare-guard"}, guard.cleaner...)...)
	cmd.Stdin = reader
	alone := "0"
	if ownUserNamespace() {
		alone = "1"
	}
	cmd.Env = append(os.Environ(), guardVariable+"="+alone)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the guard outlives the terminal
	if err := cmd.Start(); err != nil {
		_ = writer.Close()
		return fmt.Errorf("guard %s: %w", testbed.Quote(guard.cleaner), err)
	}
	commands.Beside(cmd.Process.Pid)
	guard.shell, guard.pipe = cmd, writer
	return nil
}

// Dismiss ends the guard. The guard's cleaner then does not run.
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

const (
	ownerVariable   = "TARE_OWNER"   // identifies the Tare that has started the command
	processVariable = "TARE_PROCESS" // identifies the command
)

// marker identifies a command by variables in its environment. The command's descendants inherit them.
type marker struct {
	owner  owned.Owner
	bed    int // number of the testbed among those that the owner's process has opened
	serial int // number of the command within the owner's process
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

// readMarker reads the marker of a running process. ok is false if the process has no marker, or may not be read.
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
