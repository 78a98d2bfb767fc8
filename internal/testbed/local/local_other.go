//go:build !linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

var errSystem = fmt.Errorf("the local testbed needs Linux, and this is %s", runtime.GOOS)

const hint = "use a cluster (testbed: kubernetes), or run Tare on a Linux machine, also a virtual one"

// Testbed only starts programs on this machine that control a cluster, since no trials run on this system. Its only
// place is Host.
type Testbed struct{}

// New makes a testbed without nodes and pods.
func New() (*Testbed, error) { return &Testbed{}, nil }

// Trials returns an error, since no trials can run on this system.
func Trials() error { return fmt.Errorf("%w: %s", errSystem, hint) }

// Guard does nothing, since programs on this system end by themselves.
func Guard(...string) {}

// Dismiss does nothing, since there is no guard.
func Dismiss() {}

// Here is this machine.
var Here testbed.Site = &Testbed{}

// Open returns a site with the place Host only.
func (t *Testbed) Open(_ context.Context, want testbed.Request) (testbed.Site, error) {
	if want.Needs.Pods() {
		return nil, fmt.Errorf("site %s: %w: %s", want.Name, errSystem, hint)
	}
	return t, nil
}

// Close does nothing: programs end with their context.
func (*Testbed) Close() error { return nil }

// Start starts a program on this machine. If Tare is killed, the program continues.
func (*Testbed) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where != testbed.Host {
		return nil, fmt.Errorf("no %s: %w", where, errSystem)
	}
	env := append(os.Environ(), cmd.Env...)
	prepared, err := launcher.Prepare(cmd.Args, env, cmd.Dir, cmd.Files)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	c := exec.CommandContext(ctx, prepared.Args[0], prepared.Args[1:]...)
	c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, prepared.Files
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: c, started: time.Now()}, nil
}

// Probe reports that no part of a local network works on this system.
func Probe(context.Context) []testbed.Finding {
	return []testbed.Finding{refused("network namespaces"), refused(Shaping)}
}

func refused(name string) testbed.Finding {
	return testbed.Finding{Name: name, Status: testbed.Refused, Detail: errSystem.Error(), Hint: hint}
}

// ProbeDelays reports that delay and loss do not work on this system.
func ProbeDelays() testbed.Finding { return refused(Delays) }

// ProbeVolume reports that volumes do not work on this system.
func ProbeVolume(context.Context) []testbed.Finding {
	return []testbed.Finding{refused("loop device with direct I/O, and ext4")}
}

// ProbePrograms reports that this system has no cgroups.
func ProbePrograms() []testbed.Finding { return []testbed.Finding{refused("cgroups")} }

// NeedsUserNamespace returns false, since this system has no user namespaces.
func NeedsUserNamespace() bool { return false }

// EnterUserNamespace fails, since this system has no user namespaces.
func EnterUserNamespace(...string) (int, error) { return 0, errors.ErrUnsupported }

// Strays returns nothing, since trials start no program on this system.
func Strays() ([]Stray, error) { return nil, nil }

// CleanTemporary removes the temporary files that this user's dead Tare processes have left (owned.Clean).
func CleanTemporary(dirs ...string) ([]string, error) { return owned.Clean(dirs, nil) }

// Clean does nothing, since Strays finds nothing.
func Clean(context.Context) ([]Stray, error) { return nil, nil }

type process struct {
	cmd     *exec.Cmd
	started time.Time
}

func (p *process) Wait() (testbed.Usage, error) {
	err := p.cmd.Wait()
	// CPU time and memory are unavailable, since each system counts them differently.
	usage := testbed.Usage{Wall: time.Since(p.started), Unavailable: true}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && err != nil {
		exit := &testbed.ExitError{Args: p.cmd.Args, Code: status.ExitStatus()}
		if status.Signaled() {
			exit.Signal = status.Signal().String()
		}
		err = exit
	}
	return usage, err
}

func (p *process) Kill() error { return p.cmd.Process.Kill() }

func (p *process) CPU() (time.Duration, error) {
	return 0, errors.New("the CPU time is not counted while the program runs")
}

func (p *process) Memory() (int64, error) {
	return 0, errors.New("the memory is not counted while the program runs")
}
