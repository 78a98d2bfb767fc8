package launcher

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	bpf "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	xbpf "golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"tare/internal/testbed"
)

// open makes a file in memory with this content. It returns the number of the file's descriptor in the command.
func (p *prepared) open(content []byte) (string, error) {
	if len(content) == 0 {
		return "", errors.New("the launcher is written for x86-64 and arm64")
	}
	fd, err := unix.MemfdCreate("tare-launcher", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // the kernel is older than Linux 6.3: it lacks MFD_EXEC, and its files are executable
		fd, err = unix.MemfdCreate("tare-launcher", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return "", fmt.Errorf("make a file in memory for the launcher: %w", err)
	}
	f := os.NewFile(uintptr(fd), "tare-launcher")
	at := p.add(f)
	_, err = f.Write(content)
	return at, err
}

// filter returns the filter as a sequence of struct sock_filter. In the library's code, rules after a mismatched
// argument ignore the call's number. This is harmless: all rules require one and the same argument.
func (s *Seccomp) filter() (text []byte, err error) {
	group := bpf.SyscallGroup{Action: bpf.ActionErrno, Names: s.Calls}
	if s.First != nil {
		group.Names = nil
		for _, call := range s.Calls {
			group.NamesWithCondtions = append(group.NamesWithCondtions, bpf.NameWithConditions{Name: call,
				Conditions: bpf.ArgumentConditions{{Argument: 0, Operation: bpf.Equal, Value: *s.First}}})
		}
	}
	policy := bpf.Policy{DefaultAction: bpf.ActionAllow, Syscalls: []bpf.SyscallGroup{group}}
	instructions, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	raw, err := xbpf.Assemble(instructions)
	if err != nil {
		return nil, err
	}
	for _, i := range raw {
		text = binary.NativeEndian.AppendUint16(text, i.Op)
		text = binary.NativeEndian.AppendUint32(append(text, i.Jt, i.Jf), i.K)
	}
	return text, nil
}

const (
	// allRights is the set of all rights to files in version 5 of Landlock, the newest known version.
	allRights = syscall.AccessFSIoctlDev<<1 - 1
	// grantedEverywhere is the set of rights that hold for all files: all rights except creating and removing files.
	grantedEverywhere = fileRights | syscall.AccessFSReadDir
	// fileRights is the set of rights that a rule for a file may grant.
	fileRights = syscall.AccessFSExecute | syscall.AccessFSWriteFile | syscall.AccessFSReadFile | syscall.AccessFSTruncate | syscall.AccessFSIoctlDev
)

func rights(version int) uint64 {
	switch {
	case version < 2:
		return syscall.AccessFSRefer - 1
	case version < 3:
		return syscall.AccessFSTruncate - 1
	case version < 5:
		return syscall.AccessFSIoctlDev - 1
	}
	return allRights
}

// ruleset makes the Landlock ruleset. Each rule holds for the file that Tare now sees at its path, even if a wrapper
// changes the root directory.
func (l *Landlock) ruleset() (*os.File, error) {
	version, err := syscall.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return nil, fmt.Errorf("this kernel has no Landlock, or does not allow it here: %w", err)
	}
	handled := rights(version)
	fd, err := syscall.LandlockCreateRuleset(&syscall.RulesetAttr{HandledAccessFS: handled}, 0)
	if err != nil {
		return nil, err
	}
	ruleset := os.NewFile(uintptr(fd), "landlock")
	more, err := files("/proc/sys", l.Rules-1-len(l.Writable)) // fills up the number of rules, with files that every system has and no program needs
	err = errors.Join(err, rule(fd, "/", grantedEverywhere&handled))
	for _, directory := range l.Writable {
		err = errors.Join(err, rule(fd, directory, handled&^syscall.AccessFSRefer))
	}
	for _, file := range more {
		err = errors.Join(err, rule(fd, file, syscall.AccessFSReadFile))
	}
	if err != nil {
		return nil, errors.Join(err, ruleset.Close())
	}
	return ruleset, nil
}

func rule(ruleset int, path string, access uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		err = syscall.LandlockAddPathBeneathRule(ruleset, &syscall.PathBeneathAttr{ParentFd: at, AllowedAccess: access}, 0)
		_ = unix.Close(at)
	}
	if err != nil {
		return fmt.Errorf("rule for %s: %w", path, err)
	}
	return nil
}

func files(below string, n int) ([]string, error) {
	var names []string
	err := filepath.WalkDir(below, func(path string, _ fs.DirEntry, err error) error {
		switch {
		case len(names) >= n:
			return fs.SkipAll
		case err == nil:
			names = append(names, path)
		case errors.Is(err, fs.ErrPermission):
			return nil
		}
		return err
	})
	if err == nil && len(names) < max(n, 0) {
		err = fmt.Errorf("there are only %d files below %s", len(names), below)
	}
	return names, err
}

// Helper prepares the command in its own arguments (Prepare), and then becomes this command. It is for commands that
// the kubelet starts.
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
	// The command expects its files at the descriptors 3, 4 and so on. The files first move to higher numbers, so that
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
	return fmt.Errorf("start %s: %w", path, unix.Exec(path, p.Args, os.Environ()))
}

// contain makes the command run in a container. The command keeps the variables, user and network namespace that it
// would have outside.
func (p *prepared) contain(b *Bundle, args, environment []string, directory string) (err error) {
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, prefix) }) {
		return errors.New("a container cannot receive descriptors: list this layer after the other one, so that it wraps it")
	}
	if directory == "" {
		if directory, err = os.Getwd(); err != nil {
			return err
		}
	}
	type object map[string]any
	text, err := json.Marshal(object{ // part of the runtime specification of the Open Container Initiative
		"ociVersion": "1.0.0",
		"root":       object{"path": "/"},
		"process": object{
			"args": args, "env": environment, "cwd": directory, "user": object{"uid": os.Getuid(), "gid": os.Getgid()},
			"capabilities": object{"bounding": capabilities, "effective": capabilities, "permitted": capabilities},
		},
	})
	if err != nil {
		return err
	}
	config, err := p.open(text)
	if err != nil {
		return err
	}
	id := "tare-" + rand.Text()
	p.Args = slices.Concat(p.Args, []string{"-m", b.Directory, "-f", config, "--"}, b.Runtime, []string{id})
	return nil
}

// capabilities lists the capabilities that root gets in a sandbox. What a capability allows there depends on the
// sandbox.
var capabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_SYS_CHROOT",
	"CAP_SYS_PTRACE", "CAP_SYS_ADMIN", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_MKNOD", "CAP_AUDIT_WRITE", "CAP_SETFCAP"}
