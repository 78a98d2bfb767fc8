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

	"tare/machine/owned"
	"tare/testbed"
	"tare/testbed/launcher"
)

// errSystem says why there is no local testbed here.
var errSystem = fmt.Errorf("the local testbed needs Linux, and this is %s", runtime.GOOS)

// hint says what can be done instead.
const hint = "use a cluster (testbed: kubernetes), or run Tare on a Linux machine, also a virtual one"

// Testbed is what another system has of a testbed: a place to start programs that
// drive a cluster from here. It cannot be guarded, and so trials do not run on it.
type Testbed struct{}

// New makes a testbed without nodes and pods.
func New() (*Testbed, error) { return &Testbed{}, nil }

// Trials says that none can run on this system.
func Trials() error { return fmt.Errorf("%w: %s", errSystem, hint) }

// Guard does nothing: programs that are started here end by themselves.
func Guard(...string) {}

// Dismiss does nothing, as Guard does.
func Dismiss() {}

// Here is this machine.
var Here testbed.Site = site{}

// Open gives a site that has the host place only.
func (*Testbed) Open(_ context.Context, want testbed.Request) (testbed.Site, error) {
	if want.Needs.Pods() {
		return nil, fmt.Errorf("site %s: %w: %s", want.Name, errSystem, hint)
	}
	return site{}, nil
}

// Close has nothing to end: programs end with their context.
func (*Testbed) Close() error { return nil }

// site is this machine.
type site struct{}

// Start starts a program on this machine.
func (site) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	if where != testbed.Host {
		return nil, fmt.Errorf("no %s: %w", where, errSystem)
	}
	return start(ctx, cmd)
}

// Probe refuses everything that a local network is made of.
func Probe(context.Context) []testbed.Finding {
	var findings []testbed.Finding
	for _, name := range []string{"network namespaces", Shaping} {
		findings = append(findings, testbed.Finding{Name: name, Status: testbed.Refused, Detail: errSystem.Error(), Hint: hint})
	}
	return findings
}

// ProbeDelays refuses them.
func ProbeDelays() testbed.Finding {
	return testbed.Finding{Name: Delays, Status: testbed.Refused, Detail: errSystem.Error(), Hint: hint}
}

// ProbeVolume refuses it.
func ProbeVolume(context.Context) []testbed.Finding {
	return []testbed.Finding{{Name: "loop device with direct I/O, and ext4", Status: testbed.Refused, Detail: errSystem.Error(), Hint: hint}}
}

// ProbePrograms says that there are none.
func ProbePrograms() []testbed.Finding {
	return []testbed.Finding{{Name: "cgroups", Status: testbed.Refused, Detail: errSystem.Error(), Hint: hint}}
}

// NeedsUserNamespace says no: there are none.
func NeedsUserNamespace() bool { return false }

// EnterUserNamespace is not to be called, as NeedsUserNamespace says.
func EnterUserNamespace(...string) (int, error) { return 0, errors.ErrUnsupported }

// Strays lists nothing: no program of a trial is started on this system.
func Strays() ([]Stray, error) { return nil, nil }

// CleanTemporary removes what Tares of this user that no longer run have left: see owned.Clean.
func CleanTemporary(dirs ...string) ([]string, error) { return owned.Clean(dirs, nil) }

// Clean ends nothing, as Strays finds nothing.
func Clean(context.Context) ([]Stray, error) { return nil, nil }

// start starts a program on this machine. It outlives a Tare that is killed.
func start(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	prepared, err := launcher.Prepare(cmd.Args, append(os.Environ(), cmd.Env...), cmd.Dir, cmd.Files)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	c := exec.CommandContext(ctx, prepared.Args[0], prepared.Args[1:]...)
	c.Env = append(os.Environ(), cmd.Env...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr
	c.ExtraFiles = prepared.Files
	if err := c.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: c, started: time.Now()}, nil
}

// process is a program on this machine.
type process struct {
	cmd     *exec.Cmd
	started time.Time
}

// Wait waits for the end.
func (p *process) Wait() (testbed.Usage, error) {
	err := p.cmd.Wait()
	usage := testbed.Usage{Wall: time.Since(p.started), Unavailable: true} // systems differ in what they count
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && err != nil {
		exit := &testbed.ExitError{Args: p.cmd.Args, Code: status.ExitStatus()}
		if status.Signaled() {
			exit.Signal = status.Signal().String()
		}
		err = exit
	}
	return usage, err
}

// Kill ends the program.
func (p *process) Kill() error { return p.cmd.Process.Kill() }

// CPU is not told.
func (p *process) CPU() (time.Duration, error) {
	return 0, errors.New("the CPU time is not counted while the program runs")
}

// Memory is not told.
func (p *process) Memory() (int64, error) {
	return 0, errors.New("the memory is not counted while the program runs")
}
