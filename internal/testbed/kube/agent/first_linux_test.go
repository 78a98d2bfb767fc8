package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tare/internal/run/machine/proc"
)

// firstRole makes this test program the first process of a process id namespace, as an agent in the directory of its
// argument.
const firstRole = "be-first"

func beFirst(dir string) error {
	// Mounts made here are visible to no other process.
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return (&Server{Dir: dir}).Serve(ctx)
}

// first starts an agent as a pod's first process. It returns a function that ends the agent.
func first(t *testing.T) (dir string, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "first")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd := exec.Command("/proc/self/exe", firstRole, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("a process id namespace cannot be made here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent: %v: %s", err, &stderr)
		}
	})
	t.Cleanup(stop)
	conn, err := dialSocket(t.Context(), filepath.Join(dir, socketName)) // it listens
	if err != nil {
		t.Fatalf("no agent: %v: %s", err, &stderr)
	}
	conn.Close()
	return dir, stop
}

// TestFirst: as the first process of a pod, the agent ends even processes without a mark in a session of their own.
func TestFirst(t *testing.T) {
	dir, _ := first(t)
	s := sessionWith(t, dialer(dir), Options{})
	path, lines := messages(t)
	p, _, _ := start(t, s, shell(`(setsid env -i /bin/sh -c 'sleep 1000 >/dev/null & echo started' >`+path+` &)
		while [ ! -e `+path+`.read ]; do sleep 0.01; done; exit 0`))
	if got := lines(); got != "started" {
		t.Fatal(got)
	}
	if err := os.WriteFile(path+".read", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	p, stdout, _ := start(t, s, shell(`for p in /proc/[0-9]*; do read -r line <$p/stat && echo "$line"; done`))
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "1 (") || !strings.Contains(got[1], "(sh)") {
		t.Errorf("besides the agent and this shell there are: %s", stdout)
	}
}

// TestReaping: orphans that end while their program runs do not stay as zombies, and count as the program's.
func TestReaping(t *testing.T) {
	dir, _ := first(t)
	s := sessionWith(t, dialer(dir), Options{})
	// Each orphan does some work, and then closes the pipe. The shell reads the pipe until all orphans have closed
	// it, and then waits until the agent has reaped them.
	p, stdout, _ := start(t, s, shell(`
		for n in 1 2 3; do
			(setsid sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo over' &)
		done | cat
		while :; do
			zombies=0
			for p in /proc/[0-9]*; do
				{ read -r line <$p/stat; } 2>/dev/null && case $line in *") Z "*) zombies=1;; esac
			done
			[ $zombies = 0 ] && break
		done`))
	usage, err := p.Wait()
	if err != nil || stdout.String() != "over\nover\nover\n" {
		t.Errorf("%v, %q", err, stdout)
	}
	if usage.CPU() < 2*proc.Tick {
		t.Errorf("usage %+v", usage)
	}
}

// TestEndOfFirst: the agent ends at SIGTERM, whatever programs run.
func TestEndOfFirst(t *testing.T) {
	dir, stop := first(t)
	s := NewClient(dialer(dir), Options{Alive: func(context.Context) error { return errors.New("the pod is gone") }})
	p, _, _ := start(t, s, shell("trap '' TERM; sleep 1000"))
	stop()
	if _, err := p.Wait(); err == nil {
		t.Error("the program ended well")
	}
	_ = s.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
