//go:build linux

// Command spin keeps processors busy, and the disk where it is asked to, until it is interrupted: a load to
// measure beside.
//
//	go -C hack/bench run ./spin              two processes that spin
//	go -C hack/bench run ./spin -cpu 4 -io 1
//
// With a command behind --, it runs that beside the load, ends the load, and exits as the command did.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	cpu := flag.Int("cpu", 2, "processes that spin")
	io := flag.Int("io", 0, "processes that write 64 MiB to a temporary file and to the disk, again and again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, *cpu, *io, flag.Args()))
}

// run starts the load and gives the exit status of the command, or waits to be interrupted.
func run(ctx context.Context, cpu, io int, args []string) int {
	load, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	start := func(n int, script string) {
		for range n {
			cmd := exec.CommandContext(load, "/bin/sh", "-c", script)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
			running.Go(func() { _ = cmd.Run() })
		}
	}
	start(cpu, "while :; do :; done")
	start(io, `f=$(mktemp) || exit; exec 3>"$f"; rm "$f"; while :; do dd if=/dev/zero of=/proc/self/fd/3 bs=1M count=64 conv=fsync 2>/dev/null; done`)
	if len(args) == 0 {
		<-ctx.Done()
		return 0
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	var status *exec.ExitError
	if errors.As(err, &status) {
		return status.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "spin:", err)
		return 1
	}
	return 0
}
