// Package apart lets tests run apart from the other processes of the machine, in a
// process id namespace of their own.
//
// What Tare knows of other Tares (clean, doctor, leftovers, strays) is bounded by its
// process id namespace: a marker, a cgroup and a directory name the namespace of their
// owner, and those of another are left alone. So tests that kill a Tare, look for
// processes, or ask what was left behind neither see nor end what another test suite, a
// campaign or a run on the same machine has at work.
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

// variable names the test, or with * the test program, that a process runs apart.
const variable = "TARE_TEST_APART"

// whole stands for all tests of a program.
const whole = "*"

// Rerun runs this test program again in a namespace of its own, and ends with its exit
// code. It returns where the program is in one already, or this machine allows none.
func Rerun() {
	if os.Getenv(variable) != "" || namespace() == nil {
		return
	}
	cmd, err := again(whole, os.Args[1:])
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGQUIT) // the program inside gets them, too
		err = cmd.Run()
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "run apart:", err)
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// Test runs a test once more in a namespace of its own, apart from the other tests of its
// package, and gives it that result: the caller returns. It is false where the test is to
// go on, because it is there already or because this machine allows no namespace.
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

// alone changes the arguments of a test program to those that run one test, whose result is
// kept by nobody.
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

// namespace is the command that makes one, or nil where this machine allows none.
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
	// The shell is the namespace's first process: it takes over orphans, and lets
	// them go when they end.
	command := append(namespace(), "sh", "-c", `"$@"; exit $?`, "sh", self)
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	cmd.Env = append(os.Environ(), variable+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the death of the thread that starts it would end it as well
	return cmd, nil
}
