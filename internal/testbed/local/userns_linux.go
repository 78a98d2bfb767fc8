package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoRights means that this process may not set up a network even in a user namespace that it has entered.
var errNoRights = errors.New("inside a user namespace of its own Tare still lacks CAP_NET_ADMIN and CAP_SYS_ADMIN: " +
	"the system restricts user namespaces (see tare doctor); run Tare as root")

// NeedsUserNamespace reports whether this process may not set up a network, except in a new user namespace.
func NeedsUserNamespace() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return true
	}
	const needed = 1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_SYS_ADMIN
	return data[0].Effective&needed != needed
}

// EnterUserNamespace runs this program again with the given arguments, as root of a new user namespace. Outside of it,
// this root is the current user. The status is the second program's exit status, or 128 plus the number of the signal
// that ended it. The second program has this process's directory, environment and standard files, gets its signals
// once, and dies with it.
//
// If NeedsUserNamespace returns true, this function must be called before anything else is started, and the caller must
// exit with the status. An error means that the second program could not be started.
func EnterUserNamespace(args ...string) (status int, err error) {
	if os.Getenv(UserNamespaceVariable) != "" {
		return 0, errNoRights
	}
	again := exec.Command("/proc/self/exe", args...)
	again.Args[0] = os.Args[0]
	again.Env = append(os.Environ(), UserNamespaceVariable+"=1")
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.SysProcAttr = inUserNamespace()
	// In its own process group, the second program receives signals only from this process, and each signal only once.
	again.SysProcAttr.Setpgid = true
	again.SysProcAttr.Pdeathsig = syscall.SIGKILL

	// The kernel sends the death signal of a child when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	defer signal.Stop(signals)
	if err := again.Start(); err != nil {
		return 0, fmt.Errorf("enter a user namespace: %w; %s", err, userNamespaceHint())
	}
	ended := make(chan struct{})
	go forward(signals, again.Process, ended)
	err = again.Wait()
	close(ended)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("in the user namespace: %w", err)
	}
	if how, ok := again.ProcessState.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		return 128 + int(how.Signal()), nil
	}
	return again.ProcessState.ExitCode(), nil
}

// inUserNamespace returns the attributes for starting a process in a new user namespace: as root inside, with the
// present user's rights outside.
func inUserNamespace() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// ownUserNamespace reports whether EnterUserNamespace has made the present user namespace for this very process.
func ownUserNamespace() bool {
	if os.Getenv(UserNamespaceVariable) == "" {
		return false
	}
	own, err := userNamespace(os.Getpid())
	if err != nil {
		return false
	}
	defer own.Close()
	// If the namespace was made for this Tare alone, the parent is outside of it, and cannot be inspected.
	return !below(os.Getppid(), inode(own))
}

func userNamespace(pid int) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid)) }

func inode(f *os.File) uint64 {
	var st unix.Stat_t
	_ = unix.Fstat(int(f.Fd()), &st)
	return st.Ino
}

func below(pid int, namespace uint64) bool {
	ns, err := userNamespace(pid)
	for err == nil {
		if inode(ns) == namespace {
			_ = ns.Close()
			return true
		}
		parent, refused := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_PARENT)
		_ = ns.Close()
		if err = refused; err == nil {
			ns = os.NewFile(uintptr(parent), "user namespace")
		}
	}
	return false
}

var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
}

// forward passes signals on to the process until it has ended. For a stop by Ctrl-Z, both programs get SIGSTOP instead,
// which a process cannot catch.
func forward(signals <-chan os.Signal, to *os.Process, ended <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTSTP {
				_ = to.Signal(syscall.SIGSTOP)
				_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
				continue
			}
			_ = to.Signal(s)
		case <-ended:
			return
		}
	}
}

func explain(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: this takes root or a user namespace (see tare doctor)", err)
	}
	return err
}
