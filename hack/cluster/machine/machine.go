// Package machine makes the machines of a test cluster out of Linux namespaces.
//
// A machine is one process, its init, in mount, PID, UTS, IPC and network
// namespaces of its own; whatever else runs on the machine is its descendant.
// All that makes up the machine hangs on that one process: when it is killed,
// the kernel ends every process in the machine, drops its mounts and deletes its
// network interfaces. Nothing of it has a name on the host but the machine's
// directory and, because containers have limits, its cgroups.
//
// Init sees the host's files through an overlay that it can write to without
// touching them, runs programs when told to over a socket, and reaps orphans.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is one machine of a test cluster, running or not.
type Machine struct {
	Hostname string
	Dir      string // holds all its files; shared with the host
}

// Setup is what a new machine is made with.
type Setup struct {
	Hostname string
	// Shared is a directory that the machine shares with the host, and that
	// contains Dir: what is written there is not in the overlay.
	Shared string
	Binds  []Bind
}

// Bind makes a directory below Shared appear elsewhere on the machine, too.
type Bind struct{ From, To string }

const (
	initArg   = "init"
	setupFile = "setup.json"
	initLog   = "init.log"
	socket    = "init.sock"
	// bootLimit is more than init needs on a busy machine: a few mounts.
	bootLimit = 20 * time.Second
	stopLimit = 60 * time.Second
)

// Boot starts the machine: this program again, as init in new namespaces. The
// program's main function must call RunInit.
func Boot(ctx context.Context, dir string, setup Setup) (Machine, error) {
	m := Machine{Hostname: setup.Hostname, Dir: dir}
	content, err := json.Marshal(setup)
	if err != nil {
		return m, err
	}
	if err := os.WriteFile(filepath.Join(dir, setupFile), content, 0o600); err != nil {
		return m, err
	}
	log, err := os.Create(filepath.Join(dir, initLog))
	if err != nil {
		return m, err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", initArg, dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET,
	}
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("start machine %s in new namespaces: %w", setup.Hostname, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	deadline := time.After(bootLimit)
	for {
		if client, err := m.dial(); err == nil {
			return m, client.Close()
		}
		select {
		case <-ctx.Done():
			return m, fmt.Errorf("boot machine %s: %w", setup.Hostname, ctx.Err())
		case err := <-ended:
			return m, fmt.Errorf("machine %s ended while booting (%w): %s", setup.Hostname, err, Tail(log.Name(), 5))
		case <-deadline:
			return m, fmt.Errorf("waited %s for machine %s to boot: %s", bootLimit, setup.Hostname, Tail(log.Name(), 5))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is init's process id on the host, or 0 when the machine does not run. It
// is found by init's command line, which names the machine's directory, so
// that neither a lost nor an old record of it can mislead.
func (m Machine) PID() (int, error) {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", p.Name(), "cmdline"))
		if err != nil {
			continue // it has ended meanwhile
		}
		args := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
		if len(args) == 3 && args[1] == initArg && args[2] == m.Dir {
			return pid, nil
		}
	}
	return 0, nil
}

// Kill ends the machine and all that runs on it, and waits until it has.
func (m Machine) Kill(ctx context.Context) error {
	pid, err := m.PID()
	if err != nil || pid == 0 {
		return err
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill machine %s (process %d): %w", m.Hostname, pid, err)
	}
	// Init is gone last of all processes in its PID namespace. A zombie has no
	// command line any more, so PID finds none.
	deadline := time.Now().Add(stopLimit)
	for {
		if pid, err := m.PID(); err != nil || pid == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for machine %s (process %d) to end after SIGKILL", stopLimit, m.Hostname, pid)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for machine %s to end: %w", m.Hostname, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Start runs a program on the machine in the background.
func (m Machine) Start(p Program) error {
	return m.call("Init.Start", p, new(struct{}))
}

// Stop ends a program: SIGTERM, and SIGKILL if that is not enough.
func (m Machine) Stop(name string) error {
	return m.call("Init.Stop", name, new(struct{}))
}

// KillProgram ends a program by SIGKILL.
func (m Machine) KillProgram(name string) error {
	return m.call("Init.Kill", name, new(struct{}))
}

// Restart starts a program that has ended or was stopped, as it was started before.
func (m Machine) Restart(name string) error {
	return m.call("Init.Restart", name, new(struct{}))
}

// Programs lists what was started on the machine, in that order.
func (m Machine) Programs() ([]Status, error) {
	var list []Status
	err := m.call("Init.Programs", struct{}{}, &list)
	return list, err
}

// LogFile is where a program's output is.
func (m Machine) LogFile(program string) string {
	return filepath.Join(m.Dir, program+".log")
}

func (m Machine) dial() (*rpc.Client, error) {
	conn, err := net.Dial("unix", filepath.Join(m.Dir, socket))
	if err != nil {
		return nil, err
	}
	return rpc.NewClient(conn), nil
}

func (m Machine) call(method string, args, reply any) error {
	client, err := m.dial()
	if err != nil {
		return fmt.Errorf("machine %s does not run: %w", m.Hostname, err)
	}
	defer func() { _ = client.Close() }()
	if err := client.Call(method, args, reply); err != nil {
		return fmt.Errorf("machine %s: %w", m.Hostname, err)
	}
	return nil
}

// Tail is the last lines of a log, for error messages.
func Tail(file string, lines int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
