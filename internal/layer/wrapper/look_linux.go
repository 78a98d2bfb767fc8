package wrapper

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/run/machine/proc"
)

// look answers one question. The words are:
//
//	status:FIELD   a field of /proc/self/status
//	ns:NAME        the namespace of a kind, such as pid
//	release        the kernel's release
//	label          the profile of AppArmor, with its mode
//	write:DIR      make a file in the directory, and remove it
//	open:PATH      open a file for reading
//	exec:PATH      execute a file
//	connect:TO     connect a socket for datagrams to an address and port; nothing is sent
//	ptrace         read memory of the parent at an address without memory
//	mount[:SOURCE] mount a file system of no type
//	chroot         change the root to /
//	raw-socket     open a raw socket
//	alarm-timer    make a timer that wakes a machine that sleeps, and do not set it
//	call:NAME      make a system call of the list calls
//
// The answer to an action is "allowed" or the name of the errno. An allowed action changes nothing.
func look(word string) string {
	what, argument, _ := strings.Cut(word, ":")
	switch what {
	case "status":
		return status(argument)
	case "ns":
		return orError(os.Readlink("/proc/self/ns/" + argument))
	case "release":
		var name unix.Utsname
		err := unix.Uname(&name)
		return orError(unix.ByteSliceToString(name.Release[:]), err)
	case "label":
		text, err := os.ReadFile("/proc/self/attr/apparmor/current")
		if errors.Is(err, fs.ErrNotExist) { // a kernel older than Linux 5.8 has the label in another file
			text, err = os.ReadFile("/proc/self/attr/current")
		}
		return orError(strings.TrimRight(string(text), "\n\x00"), err)
	case "write":
		return write(argument)
	case "open":
		return closed(unix.Open(argument, unix.O_RDONLY|unix.O_CLOEXEC, 0))
	case "exec":
		return named(exec.Command(argument).Run())
	case "connect":
		return connect(argument)
	case "ptrace":
		here := unix.Iovec{Base: new(byte)}
		here.SetLen(1)
		_, err := unix.ProcessVMReadv(os.Getppid(), []unix.Iovec{here}, []unix.RemoteIovec{{Base: 1, Len: 1}}, 0)
		return named(err)
	case "mount":
		return named(unix.Mount(cmp.Or(argument, "tare"), "/", "", 0, "")) // the kernel checks the right to mount before the type of the file system
	case "chroot":
		return named(unix.Chroot("/"))
	case "raw-socket":
		return closed(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	case "alarm-timer":
		return closed(unix.TimerfdCreate(unix.CLOCK_REALTIME_ALARM, unix.TFD_CLOEXEC))
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

type call struct {
	name             string
	number, argument uintptr
}

// calls are the system calls that the prober can try. They change nothing.
var calls = []call{
	{"personality", unix.SYS_PERSONALITY, 0xffffffff}, // with this argument, the call reads the personality and changes nothing
	{"getppid", unix.SYS_GETPPID, Magic},              // getppid has no arguments
}

func status(field string) string {
	text, err := os.ReadFile("/proc/self/status")
	return orError(proc.Field(text, field), err)
}

func write(dir string) string {
	name := filepath.Join(dir, ProbeFile+rand.Text())
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		_ = unix.Close(fd)
		err = unix.Unlink(name)
	}
	return named(err)
}

// closed closes a descriptor if there is one. It returns the prober's answer for the error.
func closed(fd int, err error) string {
	if err == nil {
		_ = unix.Close(fd)
	}
	return named(err)
}

func connect(to string) string {
	conn, err := net.Dial("udp", to)
	if err == nil {
		_ = conn.Close()
	}
	return named(err)
}

func orError(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

func named(err error) string {
	if err == nil {
		return allowed
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return err.Error()
}

func ownTime() (time.Duration, error) {
	var used unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}
