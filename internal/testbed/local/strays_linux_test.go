package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/owned"
	"tare/internal/test/fit"
	"tare/internal/testbed"
)

// startVictim starts this program as a Tare that the test kills.
func startVictim(t *testing.T, argument string) (*exec.Cmd, io.Writer, victim) {
	t.Helper()
	if NeedsUserNamespace() {
		t.Skip("needs root, or to be run inside a user namespace (unshare -Ur)")
	}
	cmd := exec.Command("/proc/self/exe", argument)
	cmd.Env = append(os.Environ(), roleVariable+"=victim")
	orders, v := victimOf(t, cmd)
	return cmd, orders, v
}

// victimOf starts a victim by a command.
func victimOf(t *testing.T, cmd *exec.Cmd) (io.Writer, victim) {
	t.Helper()
	cmd.Stderr = io.Discard // of the panic
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var v victim
	must(t, json.NewDecoder(out).Decode(&v))
	for _, pid := range append(v.Commands, v.Left...) {
		if !running(pid) {
			t.Fatalf("process %d does not run", pid)
		}
	}
	return orders, v
}

// hold returns descriptors of processes, which stay valid if the process ids are reused.
func hold(t *testing.T, pids []int) []unix.PollFd {
	t.Helper()
	var held []unix.PollFd
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		held = append(held, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return held
}

// await waits until the processes have ended.
func await(t *testing.T, what string, pids []int, held []unix.PollFd) {
	t.Helper()
	for i := range held {
		fit.Await(t, fmt.Sprintf("the end of %s %d", what, pids[i]), func() bool {
			n, _ := unix.Poll(held[i:i+1], 0)
			return n > 0
		})
		_, _ = unix.Wait4(pids[i], nil, unix.WNOHANG, nil) // this process gets the orphans if it is a subreaper
	}
}

// inUse reports whether any thread on the machine is in one of these namespaces.
func inUse(namespaces []uint64) string {
	links, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/ns/net")
	for _, l := range links {
		var ns unix.Stat_t
		if err := unix.Stat(l, &ns); err == nil && slices.Contains(namespaces, ns.Ino) {
			return l
		}
	}
	return ""
}

func TestDeathOfTareLeavesNothing(t *testing.T) {
	ends := map[string]func(*exec.Cmd, io.Writer){
		"kill -9": func(cmd *exec.Cmd, _ io.Writer) { _ = cmd.Process.Kill() },
		"SIGTERM": func(cmd *exec.Cmd, _ io.Writer) { _ = cmd.Process.Signal(unix.SIGTERM) },
		"SIGINT":  func(cmd *exec.Cmd, _ io.Writer) { _ = cmd.Process.Signal(unix.SIGINT) },
		"panic":   func(_ *exec.Cmd, orders io.Writer) { fmt.Fprintln(orders, "panic") },
		"exit":    func(_ *exec.Cmd, orders io.Writer) { fmt.Fprintln(orders, "exit") },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			cmd, orders, v := startVictim(t, "unguarded")
			commands := hold(t, v.Commands)
			end(cmd, orders)
			_ = cmd.Wait()
			await(t, "command", v.Commands, commands)

			// Background processes of the commands are found and killed.
			found, err := Strays()
			if err != nil {
				t.Fatal(err)
			}
			left := hold(t, v.Left)
			checkStrays(t, "found", found, v.Left, cmd.Process.Pid)
			cleaned, err := Clean(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			checkStrays(t, "cleaned", cleaned, v.Left, cmd.Process.Pid)
			await(t, "stray", v.Left, left)
			if found, err = Strays(); err != nil || len(found) != 0 {
				t.Errorf("after cleaning: %v, %v", found, err)
			}
			if user := inUse(v.Namespaces); user != "" {
				t.Errorf("%s is still in a namespace of the site", user)
			}
			if got := volumesOf(t, cmd.Process.Pid); len(got) != 2 {
				t.Errorf("volumes of members: %v", got)
			}
			if _, err := CleanTemporary(); err != nil {
				t.Error(err)
			}
			if got := volumesOf(t, cmd.Process.Pid); got != nil {
				t.Errorf("volumes left: %v", got)
			}
		})
	}
}

// volumesOf lists the volumes of members that a dead process has left.
func volumesOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	all, err := owned.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range all {
		if strings.Contains(dir, fmt.Sprintf("tare-%s-%d-", volumeKind, pid)) {
			list = append(list, dir)
		}
	}
	return list
}

// checkStrays checks that all strays have the given owner, and include all processes that were left behind. The other
// strays are their shells.
func checkStrays(t *testing.T, what string, strays []Stray, left []int, owner int) {
	t.Helper()
	var pids []int
	for _, s := range strays {
		pids = append(pids, s.PID)
		if !strings.HasPrefix(s.Owner, fmt.Sprintf("%d-", owner)) {
			t.Errorf("%s a stray of another owner: %+v", what, s)
		}
		if s.Command != "" && !strings.Contains(s.Command, "sleep 1000") {
			t.Errorf("%s a stray with the command %q", what, s.Command)
		}
	}
	for _, pid := range left {
		if !slices.Contains(pids, pid) {
			t.Errorf("%s not the stray %d", what, pid)
		}
	}
}

func TestGuardCleansAfterKill(t *testing.T) {
	cmd, _, v := startVictim(t, "guarded")
	all := append(slices.Clone(v.Commands), v.Left...)
	held := hold(t, all)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	await(t, "process", all, held)
	fit.Await(t, "the end of volumes of members", func() bool { return volumesOf(t, cmd.Process.Pid) == nil })
}

func TestGuardIsDismissed(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "proof")
	Guard("touch", proof)
	defer Guard()
	if _, err := testbed.Output(t.Context(), Here, testbed.Host, "true"); err != nil {
		t.Fatal(err)
	}
	if guard.shell == nil {
		t.Error("a program was started without a guard")
	}
	Dismiss()
	if _, err := os.Stat(proof); !os.IsNotExist(err) {
		t.Errorf("the cleaner ran: %v", err)
	}
}

// A process that the kernel keeps from ending does not prevent the end of other processes.
func TestCleanGoesOnPastOneThatStays(t *testing.T) {
	freezer, err := os.MkdirTemp("/sys/fs/cgroup/freezer", "tare-test-")
	if err != nil {
		t.Skipf("no freezer of cgroups v1, whose processes no signal ends: %v", err)
	}
	self, err := owned.This()
	must(t, err)
	dead, err := owned.Parse(fmt.Sprintf("%d-1-%s", self.PID(), strings.Split(self.String(), "-")[2]))
	must(t, err)
	var pids []int
	for i := range 2 {
		cmd := exec.Command("sleep", "1000")
		cmd.Env = append(os.Environ(), marker{dead, 1, i + 1}.environment()...)
		must(t, cmd.Start())
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		pids = append(pids, cmd.Process.Pid)
	}
	state := filepath.Join(freezer, "freezer.state")
	defer func() {
		must(t, os.WriteFile(state, []byte("THAWED"), 0))
		held := hold(t, pids[:1])
		await(t, "the process that was frozen", pids[:1], held)
		must(t, os.Remove(freezer))
	}()
	must(t, os.WriteFile(filepath.Join(freezer, "cgroup.procs"), fmt.Append(nil, pids[0]), 0))
	must(t, os.WriteFile(state, []byte("FROZEN"), 0))
	fit.Await(t, "a frozen process", func() bool {
		text, _ := os.ReadFile(state)
		return string(text) == "FROZEN\n"
	})
	was := endLimit
	endLimit = 200 * time.Millisecond
	defer func() { endLimit = was }()
	ended, err := Clean(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d (sleep 1000) was killed but does not end", pids[0])) {
		t.Errorf("error %v", err)
	}
	if !slices.ContainsFunc(ended, func(s Stray) bool { return s.PID == pids[1] }) {
		t.Errorf("ended %+v, not %d", ended, pids[1])
	}
}

func TestStraysOfLivingOwnersAreLeftAlone(t *testing.T) {
	site := openHost(t)
	p, pids := started(t, site, "echo $$; exec sleep 1000", 1)
	found, err := Strays()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if s.PID == pids[0] {
			t.Errorf("a command of a living Tare is taken for a stray: %+v", s)
		}
	}
	_ = p.Kill()
}

// A process without an environment is not Tare's. A process that is just being started has no environment yet.
func TestMarkerOfProcessWithoutEnvironment(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{"X="}
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if m, ok := readMarker(cmd.Process.Pid); ok {
		t.Errorf("%+v", m)
	}
	bare := exec.Command("env", "-i", "sleep", "1000")
	must(t, bare.Start())
	defer func() { _ = bare.Process.Kill(); _ = bare.Wait() }()
	if m, ok := readMarker(bare.Process.Pid); ok {
		t.Errorf("%+v", m)
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add([]byte("PATH=/bin\x00TARE_OWNER=12-34-56\x00TARE_PROCESS=7-8\x00"))
	f.Add([]byte("TARE_OWNER=12-34\x00TARE_PROCESS=x"))
	f.Add([]byte("TARE_OWNER=0-0-0\x00TARE_PROCESS=--"))
	f.Fuzz(func(t *testing.T, environ []byte) {
		m, ok := parseMarker(strings.Split(string(environ), "\x00"))
		if !ok {
			return
		}
		again, ok := parseMarker(m.environment())
		if !ok || again != m || m.owner.PID() <= 0 {
			t.Errorf("%q gives %+v, then %+v", environ, m, again)
		}
	})
}
