// Package seccomp puts a filter of system calls around the subjects. Like the filters of container runtimes and vArmor,
// it is a list of rules. Each rule denies one system call with EPERM.
//
//   - seccomp: {rules: [1, 8, 63]}
//   - seccomp: {rules: [1, 8], arguments: true}
//
// The rules deny calls that programs do not make (personality, acct, swapon…). With arguments, the rules deny the most
// common calls instead, with a first argument that no program passes. Since Linux 5.11, the kernel remembers which
// calls a filter allows whatever their arguments are: without arguments, any number of rules costs the same. With
// arguments, the filter runs at each such call.
//
// Tare's launcher (package launcher) installs the filter and then executes the subject. On a cluster it does so in the
// pod, in addition to the container's own filter. With rules: 0 there is no filter. The layer pod sets a profile of the
// container runtime.
//
// Proofs: the call that the first rule denies fails with EPERM inside the filter and not outside, and /proc/self/status
// shows one more filter than outside.
package seccomp

import (
	"context"
	"slices"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/layer"
	"tare/internal/layer/wrapper"
	"tare/internal/testbed/launcher"
)

const name = "seccomp"

// Config holds the layer's parameters.
type Config struct {
	Rules     factor.Levels[int]  `yaml:"rules" json:"rules" min:"0" max:"64" doc:"number of rules, each of which denies a system call that programs do not make; 0 installs no filter"`
	Arguments factor.Levels[bool] `yaml:"arguments" json:"arguments" doc:"the rules are for common system calls with an argument that no program passes, so that the filter runs at each of these calls"`
	Around    layer.Side          `yaml:"around" json:"around,omitempty" doc:"programs that the layer is put around, if clients send load to servers: both, server or client; absent: both"`
}

// Kind describes the layer.
var Kind = layer.Kind{
	Name:    name,
	Summary: "a filter of system calls with a given number of rules",
	New:     func() layer.Layer { return &Config{Rules: factor.Of(8), Arguments: factor.Of(false)} },
	Probe:   wrapper.Launchable(name, settings(len(rare), false)),
}

// Declare declares that Tare's launcher starts the subjects.
func (c *Config) Declare() experiment.Declaration {
	return experiment.Declaration{Needs: c.Around.Needs(""), OwnProves: true, Launched: true}
}

func settings(rules int, arguments bool) launcher.Settings {
	filter := &launcher.Seccomp{Calls: calls(arguments)[:rules]}
	if arguments {
		filter.First = new(uint64(wrapper.Magic))
	}
	return launcher.Settings{Seccomp: filter}
}

func (c *Config) front() wrapper.Wrapper {
	rules, arguments := c.Rules.One(), c.Arguments.OrZero()
	if rules == 0 {
		return wrapper.Idle(name, c.Around, "installs no filter")
	}
	return wrapper.Launched(name, c.Around, settings(rules, arguments),
		wrapper.Denied("denied call", []string{"EPERM"}, "call:"+calls(arguments)[0]),
		wrapper.More("filters", "status:Seccomp_filters", 1))
}

// Up puts the filter around the subjects.
func (c *Config) Up(_ context.Context, s *layer.Session) (*layer.Active, error) {
	return c.front().Up(s), nil
}

// ProveOff shows that the call that the first rule denies is allowed without the layer.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) ([]layer.Check, error) {
	return c.front().Off(ctx, s)
}

// calls returns the system calls of the rules, in order. Every architecture has these calls.
func calls(arguments bool) []string {
	if arguments {
		return common
	}
	return rare
}

// rare lists system calls that programs hardly use: calls of administrators and debuggers, and obsolete ones. The
// prober tries the first, which needs no privileges.
var rare = slices.Clip([]string{
	"personality", "acct", "swapon", "swapoff", "reboot", "kexec_load", "init_module", "finit_module",
	"delete_module", "quotactl", "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "ptrace",
	"process_vm_readv", "process_vm_writev", "kcmp", "mount", "umount2", "pivot_root", "chroot", "unshare",
	"setns", "userfaultfd", "open_by_handle_at", "name_to_handle_at", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
	"sethostname", "setdomainname", "nfsservctl", "vhangup", "syslog", "lookup_dcookie", "move_pages", "migrate_pages",
	"mbind", "io_uring_setup", "io_uring_enter", "io_uring_register", "fanotify_init", "fanotify_mark", "kexec_file_load", "mq_open",
	"mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "msgget", "msgsnd", "msgrcv",
	"msgctl", "semget", "semop", "semctl", "remap_file_pages", "vmsplice", "tee", "io_setup",
})

// common are the system calls that programs make most often.
var common = slices.Clip([]string{
	"getppid", "read", "write", "openat", "close", "fstat", "lseek", "pread64",
	"pwrite64", "readv", "writev", "pipe2", "connect", "socket", "sendto", "recvfrom",
	"epoll_pwait", "epoll_ctl", "futex", "clone", "wait4", "mmap", "munmap", "mprotect",
	"brk", "dup", "dup3", "fcntl", "ioctl", "mkdirat", "unlinkat", "faccessat",
	"ftruncate", "getdents64", "kill", "tgkill", "nanosleep", "bind", "listen", "accept4",
	"sendmsg", "recvmsg", "shutdown", "setsockopt", "getsockopt", "getsockname", "getpeername", "epoll_create1",
	"ppoll", "pselect6", "sched_yield", "getpid", "prctl", "flock", "fsync", "getcwd",
	"chdir", "uname", "umask", "madvise", "getrusage", "fdatasync", "statfs", "fchmod",
})
