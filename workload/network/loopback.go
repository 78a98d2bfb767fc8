package network

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"

	"tare/testbed"
	"tare/workload"
)

// loopback is a site on this machine's loopback interface, for the probe.
type loopback struct {
	port uint16
	rate float64 // bit/s, the most that UDP is to offer
}

// openLoopback makes the site on a port that is free now.
func openLoopback(rate float64) (loopback, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return loopback{}, err
	}
	defer listener.Close()
	return loopback{port: uint16(listener.Addr().(*net.TCPAddr).Port), rate: rate}, nil
}

func (loopback) Address(testbed.Path) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
func (l loopback) Ports() []uint16               { return []uint16{l.port} }
func (l loopback) LinkRate() float64             { return l.rate }

func (loopback) Start(ctx context.Context, _ testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	c := exec.CommandContext(ctx, cmd.Args[0], cmd.Args[1:]...)
	c.Env = append(os.Environ(), cmd.Env...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
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

func (p *process) Wait() (testbed.Usage, error) {
	err := p.cmd.Wait()
	state := p.cmd.ProcessState
	usage := testbed.Usage{Wall: time.Since(p.started), User: state.UserTime(), System: state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		usage.MaxRSS = r.Maxrss << 10
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && err != nil {
		exit := &testbed.ExitError{Args: p.cmd.Args, Code: status.ExitStatus()}
		if status.Signaled() {
			exit.Signal = status.Signal().String()
		}
		err = exit
	}
	return usage, err
}

func (p *process) Kill() error                 { return p.cmd.Process.Kill() }
func (p *process) CPU() (time.Duration, error) { return 0, fmt.Errorf("not counted while it runs") }

// nowhere keeps no output.
type nowhere struct{}

func (nowhere) Create(string) (io.WriteCloser, error) { return discard{}, nil }

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

var (
	_ testbed.Network = loopback{}
	_ workload.Raw    = nowhere{}
)
