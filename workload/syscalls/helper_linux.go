package syscalls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/experiment/factor"
	"tare/testbed"
)

// inMemory makes a file of the probe in memory. It stays open when a program is executed.
func inMemory() (*os.File, error) {
	if len(program) == 0 {
		return nil, errors.New("the probe is written for x86-64 and arm64")
	}
	fd, err := unix.MemfdCreate("tare-probe", unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 all of them may be executed
		fd, err = unix.MemfdCreate("tare-probe", 0)
	}
	if err != nil {
		return nil, fmt.Errorf("make a file in memory for the probe: %w", err)
	}
	f := os.NewFile(uintptr(fd), "tare-probe")
	if _, err := f.Write(program); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// execute has the probe take the place of this process. Its environment is empty, since a
// longer one moves its stack: Mytkowicz et al., Producing wrong data without doing anything
// obviously wrong, ASPLOS 2009.
func execute(_ context.Context, o order) error {
	f, err := inMemory()
	if err != nil {
		return err
	}
	fd := int(f.Fd())
	argv, err := o.arguments(fd)
	if err != nil {
		return err
	}
	err = syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", fd), argv, nil)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) { // no /proc there, or not all of it
		err = executeDescriptor(fd, argv)
	}
	runtime.KeepAlive(f) // else the collector may close it before that
	return fmt.Errorf("execute the probe from memory: %w", err)
}

// executeDescriptor needs no /proc. The limit on open files stays as Go has set it.
func executeDescriptor(fd int, argv []string) error {
	list, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	empty, none := []byte{0}, []*byte{nil}
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(&list[0])), uintptr(unsafe.Pointer(&none[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

func errorText(errno uint64) string { return syscall.Errno(errno).Error() }

func signalText(signal int) string { return syscall.Signal(signal).String() }

// probeLimit is how long one operation of all tests may take together.
const probeLimit = 20 * time.Second

// probe does one operation of each test on this machine.
func probe(ctx context.Context) []testbed.Finding {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	works := testbed.Finding{Name: name, Status: testbed.Works}
	var refused []testbed.Finding
	for _, t := range tests {
		if err := tryHere(ctx, Test(t)); err != nil {
			refused = append(refused, testbed.Finding{Name: t, Status: testbed.Refused, Detail: err.Error()})
		}
	}
	if len(refused) == len(tests) {
		return []testbed.Finding{{Name: name, Status: testbed.Refused, Detail: refused[0].Detail}}
	}
	works.Detail = fmt.Sprintf("%d of %d tests", len(tests)-len(refused), len(tests))
	return append([]testbed.Finding{works}, refused...)
}

// tryHere does one operation of a test.
func tryHere(ctx context.Context, t Test) error {
	f, err := inMemory()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const self = 3 // the first of a command's further files
	c := New().(*Config)
	c.Tests = factor.Of(t)
	argv, err := c.try().arguments(self)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, fmt.Sprintf("/proc/self/fd/%d", self))
	cmd.Args, cmd.ExtraFiles = argv, []*os.File{f}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	ran := cmd.Run()
	if _, failed, err := readLines([]byte(out.String())); err == nil && failed != nil {
		return errors.New(failed.trouble())
	}
	return ran
}
