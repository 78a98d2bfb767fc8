package syscalls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
)

// filtered makes this program install a filter and execute its further arguments.
const filtered = "TARE_TEST_FILTER"

func TestMain(m *testing.M) {
	if what := os.Getenv(filtered); what != "" && testbed.HelperName() == "" {
		fmt.Fprintln(os.Stderr, behind(what, os.Args[1:]))
		os.Exit(1)
	}
	localtest.Main(m, Helper)
}

// behind executes a command with a filter for the system call getppid. The filter reads an argument very often, or
// denies the call, or ends the process.
func behind(what string, args []string) error {
	runtime.LockOSThread()
	const number, argument = 0, 16 // offsets in struct seccomp_data
	action := uint32(unix.SECCOMP_RET_ALLOW)
	looks, filters := 0, 1
	switch what {
	case "look":
		looks, filters = 4000, 4 // a filter has at most 4096 instructions; the kernel does not cache the result of a filter that reads an argument
	case "deny":
		action = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	case "kill":
		action = unix.SECCOMP_RET_KILL_PROCESS
	}
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	give := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	filter := []unix.SockFilter{load(number), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: uint32(unix.SYS_GETPPID)}, give(unix.SECCOMP_RET_ALLOW)}
	for range looks {
		filter = append(filter, load(argument))
	}
	filter = append(filter, give(action))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for range filters {
		if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
			return errno
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, filtered+"=") })
	return syscall.Exec(path, args, environment)
}

// within is a site whose commands under test run with that filter.
func within(site testbed.Site, what string) testbed.Site {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return layer.WithWrappers(site, &layer.Active{Wrap: func(cmd testbed.Command) testbed.Command {
		cmd.Args = slices.Concat([]string{"env", "-u", testbed.HelperVariable, filtered + "=" + what, self}, cmd.Args)
		return cmd
	}})
}

// small is the workload with one test that takes little time.
func small(test string) *Config {
	c := New().(*Config)
	c.Tests, c.In, c.Duration, c.Processes = factor.Of(Test(test)), testbed.Host, quantity.Duration(20*time.Millisecond), 2
	return c
}

func measure(t *testing.T, c *Config, site testbed.Site, n int) (workload.Result, error) {
	t.Helper()
	s, err := c.PrepareSlices(t.Context(), &workload.Trial{Site: site, Raw: workload.Discard, Round: 1}, n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := s.Run(t.Context(), i); err != nil {
			return workload.Result{}, err
		}
	}
	return s.Finish(t.Context())
}

func TestEveryTest(t *testing.T) {
	site := localtest.Host(t)
	for _, test := range tests {
		t.Run(test, func(t *testing.T) {
			r, err := measure(t, small(test), site, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Unavailable) > 0 && test == "mount" && os.Getuid() != 0 {
				t.Skip("this system lets nobody but root mount")
			}
			for _, m := range metricNames {
				if v := r.Values[m]; v < 20e-9 || v > 0.5 || len(r.Unavailable) > 0 {
					t.Errorf("%s is %v s", m, v)
				}
			}
			if r.Work < 6 || r.Used["probe"].Wall <= 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	found := probe(t.Context())
	if found[0].Name != name || found[0].Status != testbed.Works || os.Getuid() == 0 && len(found) > 1 {
		t.Errorf("%+v", found)
	}
}

// TestOperations counts the additional system calls of 10 and of 20 more operations.
func TestOperations(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace: ", err)
	}
	makes := map[string]string{ // system calls of one operation
		"getppid": "getppid", "pipe": "write read", "context-switch": "write write read read", "open": "openat close", "stat": "newfstatat",
		"read-256": "read", "write-1024": "write", "copy-4096": "read write", "fork": "clone wait4", "execl": "execveat",
		"shell": "clone execve wait4", "socket": "socket close", "bind": "socket bind close", "connect": "connect", "connect-tcp": "connect",
		"ptrace": "ptrace ptrace wait4", "mount": "mount umount2", "capability": "prctl",
	}
	for test, calls := range makes {
		t.Run(test, func(t *testing.T) {
			if test == "ptrace" {
				t.Skip("a process has one tracer, and strace is it")
			}
			if test == "mount" && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			few, many := counts(t, strace, test, 10), counts(t, strace, test, 30)
			want := map[string]int{}
			for _, call := range strings.Fields(calls) {
				want[call] += 20
			}
			for call, n := range want {
				got := many[call] - few[call]
				if test == "shell" && got >= n { // the programs of the shell make more system calls
					continue
				}
				if got != n {
					t.Errorf("20 operations are %d calls of %s, want %d", got, call, n)
				}
			}
			for call := range many {
				// The preparation is the same for any number of operations. A signal of a child can interrupt no
				// other test.
				if want[call] == 0 && many[call] != few[call] && test != "shell" && test != "execl" {
					t.Errorf("%d calls of %s with more operations, %d before", many[call], call, few[call])
				}
			}
		})
	}
}

// counts returns the number of calls of each system call.
func counts(t *testing.T, strace, test string, n int) map[string]int {
	t.Helper()
	f, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := small(test).try()
	o.Amount = n
	argv, err := o.arguments(3)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "counts")
	cmd := exec.CommandContext(t.Context(), strace, slices.Concat([]string{"-f", "-qq", "-c", "-U", "calls,name", "-o", to, "/proc/self/fd/3"}, argv[1:])...)
	cmd.ExtraFiles = []*os.File{f}
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			if n, err := strconv.Atoi(fields[0]); err == nil && fields[1] != "total" {
				got[fields[1]] = n
			}
		}
	}
	return got
}

// TestKnownEffect checks filters that read an argument 16,000 times for each getppid: getppid takes many times as
// long, and stat does not change.
func TestKnownEffect(t *testing.T) {
	site := localtest.Host(t)
	for test, many := range map[string]bool{"getppid": true, "stat": false} {
		plain, err := measure(t, small(test), site, 2)
		if err != nil {
			t.Fatal(err)
		}
		behind, err := measure(t, small(test), within(site, "look"), 2)
		if err != nil {
			t.Fatal(err)
		}
		ratio := behind.Values[cpuMetric] / plain.Values[cpuMetric]
		if many != (ratio > 4) {
			t.Errorf("%s takes %.1f times as long behind the filter", test, ratio)
		}
	}
}

// TestDenied checks that the arm has failed if its layers deny a test.
func TestDenied(t *testing.T) {
	site := localtest.Host(t)
	for what, want := range map[string]string{
		"deny": "exit-status: getppid: getppid: operation not permitted; without the layers it works there",
		"kill": "exit-status: getppid: the process was ended by bad system call; without the layers it works there",
	} {
		_, err := measure(t, small("getppid"), within(site, what), 1)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if _, err := measure(t, small("stat"), within(site, what), 1); err != nil {
			t.Error(err)
		}
	}
	if err := small("getppid").Try(t.Context(), within(site, "deny")); err == nil || !strings.Contains(err.Error(), "without the layers it works there") {
		t.Error(err)
	}
	if err := small("getppid").Try(t.Context(), site); err != nil {
		t.Error(err)
	}
}

// TestUnavailable checks that a test is unavailable if the place denies it without layers.
func TestUnavailable(t *testing.T) {
	denying := place{localtest.Host(t)}
	for n := 1; n < 3; n++ {
		r, err := measure(t, small("getppid"), denying, n)
		if err != nil || !slices.Equal(r.Unavailable, metricNames) || len(r.Values) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if err := small("getppid").Try(t.Context(), denying); err != nil {
		t.Error(err)
	}
	c := small("open")
	c.File = "/no/such/file"
	want := "exit-status: open: open: no such file or directory"
	if _, err := measure(t, c, denying, 1); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// place is a site at which no process may call getppid.
type place struct{ testbed.Site }

func (p place) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	cmd.Subject = true
	return within(p.Site, "deny").Start(ctx, where, cmd)
}

// TestWithoutProc executes the probe by its descriptor, without /proc.
func TestWithoutProc(t *testing.T) {
	if os.Getenv("TARE_TEST_DESCRIPTOR") != "" {
		f, err := inMemory()
		if err != nil {
			t.Fatal(err)
		}
		argv, err := small("stat").try().arguments(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		argv[3] = "0"
		t.Fatal(executeDescriptor(int(f.Fd()), append(argv[:1:1], append([]string{"nonsense"}, argv[2:]...)...)))
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestWithoutProc$")
	cmd.Env = append(os.Environ(), "TARE_TEST_DESCRIPTOR=1")
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 { // exit status of the probe for an unknown mode
		t.Errorf("%v: %s", err, text)
	}
}

// TestLayout checks that each process has its own memory layout.
func TestLayout(t *testing.T) {
	if text, err := os.ReadFile("/proc/sys/kernel/randomize_va_space"); err != nil || strings.TrimSpace(string(text)) != "2" {
		t.Skip("this system draws no layout")
	}
	seen := map[string]bool{}
	for range 4 {
		f, err := inMemory()
		if err != nil {
			t.Fatal(err)
		}
		o := small("getppid").try()
		o.Amount = 100_000_000 // the process is killed long before its end
		argv, _ := o.arguments(3)
		cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3")
		cmd.Args, cmd.ExtraFiles = argv, []*os.File{f}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = f.Close()
		first, _, _ := strings.Cut(string(text), "-")
		seen[first] = true
	}
	if len(seen) < 2 {
		t.Errorf("four processes are loaded at %v", seen)
	}
}
