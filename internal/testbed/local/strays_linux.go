package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/internal/run/machine/owned"
	"tare/internal/run/machine/proc"
	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

// Strays lists the processes of this user, or of all users for root, that dead Tare processes have left. Their
// markers identify them. The direct children of a Tare die with it; strays are descendants of these children.
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
		// A process that is just ending has no command line any more.
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

// Clean kills the strays and all strays that they still start, waits until they are gone, and returns them. It
// kills nothing else: it holds a process by a descriptor, so that the id cannot be reused, and then checks
// again that the process has the marker of a dead Tare.
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

// endNamespace kills all other processes in this process's user namespace, until none is left. The caller is
// the guard of a Tare that had this user namespace to itself.
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
	return testbed.Each(group.Processes(), func(pid int) Stray { return describe(pid, marker{owner: owner}) })
}

// ownMarked returns the marker of another process of this user, or for root of any user. The marker is in the
// environment, or else in a limit (owned.Marked).
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

// endMarked kills all processes whose marker is meant, and waits for their end. It repeats this until there are
// none, since they may start others.
func endMarked(ctx context.Context, meant func(marker) bool) ([]Stray, error) {
	self, err := owned.This()
	if err != nil {
		return nil, err
	}
	var ended []Stray
	for {
		before := len(ended)
		var errs []error // of processes that do not end
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
	// The id may have been reused before the descriptor was opened, so the marker is read again.
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

// endLimit is how long a killed process may take to end. The kernel holds a process that waits for a disk.
var endLimit = 10 * time.Second

func awaitEnd(ctx context.Context, fd int, stray Stray) error {
	deadline := time.Now().Add(endLimit)
	for time.Now().Before(deadline) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50); n > 0 {
			// Reaping succeeds only if the process has become a child of this one.
			_, _ = unix.Wait4(stray.PID, nil, unix.WNOHANG, nil)
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) was killed but does not end: the kernel holds it", stray.PID, stray.Command)
}
