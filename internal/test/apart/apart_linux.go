// Package apart lets tests run apart from the other processes of the machine, in a process id namespace of their own.
//
// Tare sees other processes of Tare only within its process id namespace (clean, doctor, leftovers, strays). A marker,
// a
// cgroup and a directory name their owner's namespace, and Tare leaves markers, cgroups and directories of another
// namespace alone. So a test in a
// namespace of its own may kill a Tare, look for processes, or ask for leftovers. Such a test neither sees nor ends the
// processes
// of another test suite, campaign or run.
package apart

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// variable is the environment variable that names the test, or with * the test program, that runs apart.
const variable = "TARE_TEST_APART"

// whole stands for all tests of a program.
const whole = "*"

// Rerun runs this test program again in a namespace of its own, and exits with its code. Inside it, or if the machine
// allows none, Rerun returns.
func Rerun() {
	if os.Getenv(variable) != "" || namespace() == nil {
		return
	}
	cmd, err := again(whole, os.Args[1:])
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGQUIT) // ignored here, since the child gets these signals too
		err = cmd.Run()
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "run apart:", err)
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// Test runs a test again in a namespace of its own, with that run's result. If it returns true, the caller must return.
// Inside that run, or without namespaces, it is false.
func Test(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() || namespace() == nil {
		return false
	}
	cmd, err := again(t.Name(), alone(t.Name(), os.Args[1:]))
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP: "+t.Name()+" ") {
		t.Skip(string(out))
	}
	if testing.Verbose() {
		t.Log(string(out))
	}
	return true
}

// alone changes the arguments of a test program so that it runs one test only and records nothing, such as a profile.
func alone(name string, args []string) []string {
	run := "^" + strings.ReplaceAll(regexp.QuoteMeta(name), "/", "$/^") + "$"
	kept := []string{"-test.run=" + run, "-test.v"}
	for _, arg := range args {
		option, _, _ := strings.Cut(strings.TrimPrefix(arg, "-test."), "=")
		switch option {
		case "run", "skip", "v", "count", "testlogfile", "coverprofile", "bench", "cpuprofile", "memprofile":
		default:
			kept = append(kept, arg)
		}
	}
	return kept
}

// namespace is the command line that runs a program in a new process id namespace; nil if this machine allows none.
var namespace = sync.OnceValue(func() []string {
	command := []string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if os.Geteuid() != 0 {
		command = append(command, "--map-current-user")
	}
	if exec.Command(command[0], append(command[1:], "true")...).Run() != nil {
		return nil
	}
	return command
})

// again is the command that runs this test program apart.
func again(name string, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// The shell is the first process of the namespace: it adopts orphans, and reaps them when they end.
	command := append(namespace(), "sh", "-c", `"$@"; exit $?`, "sh", self)
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Env = append(os.Environ(), variable+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the child dies with the thread that starts it (Pdeathsig), so the thread must stay
	return cmd, nil
}
