// Command init is the first process of the guest in which tests run that need a kernel which
// the machine does not have. It mounts what a system has mounted, loads modules of the kernel, runs
// the tests of the plan one package after the other, and turns the guest off.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/hack/guest/plan"
)

// events is the line on which the machine listens. The first one is the console.
const events = "/dev/ttyS1"

func main() {
	if os.Getpid() != 1 {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, "init:", err)
			os.Exit(1)
		}
		return
	}
	if err := first(); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
	}
	unix.Sync()
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

// first is the part of process 1: it waits for whatever has lost its parent, until the work is done.
func first() error {
	worker, err := os.StartProcess("/init", []string{"/init"}, &os.ProcAttr{
		Env:   []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TMPDIR=/tmp"},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return err
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == worker.Pid || err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// work is all the rest.
func work() error {
	for _, m := range mounts {
		if err := m.mount(); err != nil {
			return err
		}
	}
	out, err := open(events)
	if err != nil {
		return err
	}
	say := json.NewEncoder(out).Encode
	text, err := os.ReadFile(plan.File)
	if err != nil {
		return err
	}
	var p plan.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	if err := say(plan.Event{Kernel: unix.ByteSliceToString(name.Release[:])}); err != nil {
		return err
	}
	if err := prepare(p); err != nil {
		return say(plan.Event{Trouble: err.Error()})
	}
	for _, s := range p.Suites {
		ended := run(s, func(line string) { _ = say(plan.Event{Suite: s.Package, Line: line}) })
		if err := say(plan.Event{Suite: s.Package, Ended: &ended}); err != nil {
			return err
		}
	}
	return say(plan.Event{Done: true})
}

// open gives a serial line that is written to as it is.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	settings.Oflag &^= unix.OPOST
	settings.Lflag &^= unix.ECHO | unix.ICANON
	return f, unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS, settings)
}

// mounts are what a system has mounted, as far as its kernel has it.
var mounts = []mount{
	{kind: "proc", at: "/proc"},
	{kind: "sysfs", at: "/sys"},
	{kind: "devtmpfs", at: "/dev"},
	{kind: "devpts", at: "/dev/pts"},
	{kind: "tmpfs", at: "/dev/shm"},
	{kind: "tmpfs", at: "/run"},
	{kind: "cgroup2", at: "/sys/fs/cgroup"},
	{kind: "securityfs", at: "/sys/kernel/security", optional: true},
	{kind: "bpf", at: "/sys/fs/bpf", optional: true},
}

type mount struct {
	kind, at string
	optional bool
}

func (m mount) mount() error {
	err := os.MkdirAll(m.at, 0o755)
	if err == nil {
		err = unix.Mount(m.kind, m.at, m.kind, 0, "")
	}
	if err == nil || m.optional {
		return nil
	}
	return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
}

// prepare loads modules, mounts the disk, and brings the loopback device up.
func prepare(p plan.Plan) error {
	for _, name := range p.Modules {
		if err := load(name); err != nil {
			return fmt.Errorf("module %s: %w", filepath.Base(name), err)
		}
	}
	if err := unix.Mount(p.Disk, "/tmp", "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", p.Disk, err)
	}
	if err := os.Chmod("/tmp", os.ModeSticky|0o777); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("the loopback device: %w", err)
	}
	return nil
}

func load(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}

// grace is how long a program that was told to end may still take.
const grace = 10 * time.Second

// run runs the tests of a package, and gives each line that they print.
func run(s plan.Suite, line func(string)) plan.Ended {
	ctx, cancel := context.WithTimeout(context.Background(), s.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Program, s.Args...)
	cmd.Dir = filepath.Join(plan.Source, s.Package)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // which has it say where it is
	cmd.WaitDelay = grace
	out := &lines{to: line}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	out.flush()
	ended := plan.Ended{}
	switch {
	case ctx.Err() != nil:
		ended = plan.Ended{Status: -1, How: fmt.Sprintf("it did not end in %v", s.Limit)}
	case cmd.ProcessState == nil:
		ended = plan.Ended{Status: -1, How: err.Error()}
	case err != nil:
		ended = plan.Ended{Status: cmd.ProcessState.ExitCode(), How: err.Error()}
	}
	return ended
}

// lines cuts what is written into lines.
type lines struct {
	to   func(string)
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		l.to(string(line))
		l.rest = rest
	}
}

func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.to(string(l.rest))
	}
}
