package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/testbed"
)

// Helper replaces its process with the command in its arguments, after Prepare has prepared the command. It
// is for commands of pods that only the kubelet starts.
var Helper = testbed.Helper{Name: "launcher", Run: become}

func become(context.Context) error {
	args := testbed.HelperOwnArguments()
	if len(args) == 0 {
		return errors.New("it takes a command")
	}
	p, err := Prepare(args, os.Environ(), "", nil)
	if err != nil {
		return err
	}
	path, _, _ := testbed.LookUp(p.Args[0], "", os.Environ())
	if path == "" {
		return fmt.Errorf("%s is not in PATH", p.Args[0])
	}
	// The files must get the descriptors that the command expects. They first move to higher numbers, so that
	// no file overwrites another.
	var at []int
	for _, f := range p.Files {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3+len(p.Files))
		if err != nil {
			return err
		}
		at = append(at, fd)
	}
	for i, fd := range at {
		if err := unix.Dup3(fd, 3+i, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("start %s: %w", path, syscall.Exec(path, p.Args, os.Environ()))
}
