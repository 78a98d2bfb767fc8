package front

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// look answers one question:
//
//	status:FIELD   a field of /proc/self/status
//	ns:NAME        the namespace of that kind
//	release        the kernel's release
//	label          the profile of AppArmor, with its mode
//	write:DIR      make a file in the directory, and remove it
//	mount          mount a file system of no type
//	chroot         change the root to /
//	raw-socket     open a raw socket
//	call:NAME      make a system call of the list calls
//
// Actions are answered with "allowed", or with the name of the errno. None changes anything where
// it is allowed.
func look(word string) string {
	what, argument, _ := strings.Cut(word, ":")
	switch what {
	case "status":
		return status(argument)
	case "ns":
		name, err := os.Readlink("/proc/self/ns/" + argument)
		return orError(name, err)
	case "release":
		var name unix.Utsname
		err := unix.Uname(&name)
		return orError(unix.ByteSliceToString(name.Release[:]), err)
	case "label":
		text, err := os.ReadFile("/proc/self/attr/apparmor/current")
		if errors.Is(err, fs.ErrNotExist) { // before Linux 5.8
			text, err = os.ReadFile("/proc/self/attr/current")
		}
		return orError(strings.TrimRight(string(text), "\n\x00"), err)
	case "write":
		return write(argument)
	case "mount":
		return named(unix.Mount("tare", "/", "", 0, "")) // the type is looked at after the rights
	case "chroot":
		return named(unix.Chroot("/"))
	case "raw-socket":
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		if err == nil {
			_ = unix.Close(fd)
		}
		return named(err)
	case "call":
		i := slices.IndexFunc(calls, func(c call) bool { return c.name == argument })
		if i < 0 {
			return "not known"
		}
		_, _, errno := unix.RawSyscall(calls[i].number, calls[i].argument, 0, 0)
		if errno == 0 {
			return allowed
		}
		return named(errno)
	}
	return "not known"
}

// call is a system call with its first argument.
type call struct {
	name             string
	number, argument uintptr
}

// calls are the system calls that can be tried: they change nothing.
var calls = []call{
	{"personality", unix.SYS_PERSONALITY, 0xffffffff}, // which asks for it
	{"getppid", unix.SYS_GETPPID, Magic},              // which has no arguments
}

func status(field string) string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return orError("", err)
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			return string(bytes.TrimSpace(rest))
		}
	}
	return ""
}

func write(dir string) string {
	name := filepath.Join(dir, fmt.Sprintf("%s%d", ProbeFile, os.Getpid()))
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Close(fd)
		err = unix.Unlink(name)
	}
	return named(err)
}

func orError(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// named is the name of an errno.
func named(err error) string {
	if err == nil {
		return allowed
	}
	if errno, ok := err.(unix.Errno); ok {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return err.Error()
}

// ownTime is the CPU time that this process has used.
func ownTime() (time.Duration, error) {
	var used unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}
