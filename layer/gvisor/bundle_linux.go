package gvisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/testbed"
)

// become is the helper: it writes a bundle for the command that stands behind its parameters, and
// becomes runsc, which runs that. The bundle and what runsc keeps are in memory, mounted on
// an empty directory in a mount namespace that ends with the processes in it, so that nothing is left
// however they end.
func become(context.Context) error {
	args := testbed.HelperOwnArguments()
	if len(args) < 2 {
		return errors.New("it takes its parameters and a command")
	}
	var p parameters
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("its parameters: %w", err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the namespace is of this thread, of which runsc is made
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("a mount namespace for runsc: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tare", p.Dir, "tmpfs", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", p.Dir, err)
	}
	text, err := json.Marshal(specOf(args[1:], cwd))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "config.json"), text, 0o600); err != nil {
		return err
	}
	run := []string{p.Runsc, "--platform=" + string(p.Platform), "--network=host", "--ignore-cgroups", "--overlay2=all:memory",
		"--root=" + filepath.Join(p.Dir, "state"), "run", "--bundle=" + p.Dir, fmt.Sprintf("tare-%d", os.Getpid())}
	return fmt.Errorf("start %s: %w", p.Runsc, syscall.Exec(p.Runsc, run, os.Environ()))
}

// spec is what of the runtime specification of the Open Container Initiative runsc is told. The
// network namespace is the caller's.
type spec struct {
	Version string  `json:"ociVersion"`
	Process process `json:"process"`
	Root    root    `json:"root"`
}

type process struct {
	Args         []string            `json:"args"`
	Env          []string            `json:"env"`
	Cwd          string              `json:"cwd"`
	User         user                `json:"user"`
	Capabilities map[string][]string `json:"capabilities"`
}

type user struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

type root struct {
	Path string `json:"path"`
}

// specOf has the command run as it would without gVisor: with the same variables, as the
// same user, and with all capabilities where that is root.
func specOf(args []string, cwd string) spec {
	s := spec{Version: "1.0.0", Root: root{Path: "/"}}
	s.Process = process{Args: args, Env: os.Environ(), Cwd: cwd, User: user{os.Getuid(), os.Getgid()}, Capabilities: map[string][]string{}}
	for _, set := range []string{"bounding", "effective", "permitted"} {
		s.Process.Capabilities[set] = capabilities
	}
	return s
}

// capabilities are those of root in a sandbox that has all. What they allow is the sandbox's own.
var capabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_MKNOD", "CAP_AUDIT_WRITE", "CAP_SETFCAP"}
