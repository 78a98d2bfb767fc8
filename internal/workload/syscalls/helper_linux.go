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

	"tare/internal/experiment/factor"
	"tare/internal/testbed"
)

// inMemory writes the probe to a file in memory. The file stays open when this process executes another program.
func inMemory() (*os.File, error) {
	if len(program) == 0 {
		return nil, errors.New("the probe is written for x86-64 and arm64")
	}
	fd, err := unix.MemfdCreate("tare-probe", unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 there is no MFD_EXEC, and every file in memory is executable
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

// execute replaces this process by the probe, with an empty environment: its length would change times (Mytkowicz et
// al., Producing wrong data without doing anything obviously wrong, ASPLOS 2009).
func execute(_ context.Context, o request) error {
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
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) { // /proc is missing or incomplete
		err = executeDescriptor(fd, argv)
	}
	runtime.KeepAlive(f) // keeps the garbage collector from closing the file before Exec
	return fmt.Errorf("execute the probe from memory: %w", err)
}

// executeDescriptor executes the probe by its descriptor, without /proc. Unlike syscall.Exec, it keeps the limit on
// open files that Go has set.
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

func probe(ctx context.Context) []testbed.Finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
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

func tryHere(ctx context.Context, t Test) error {
	f, err := inMemory()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	const self = 3 // a command's first extra file always has the descriptor 3
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
		return errors.New(failed.failure())
	}
	return ran
}
