package launcher

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bpf "github.com/elastic/go-seccomp-bpf"
	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	xbpf "golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// open makes a file in memory that holds something, and gives the number that its descriptor will have.
func (p *Prepared) open(content []byte) (string, error) {
	if len(content) == 0 {
		return "", errors.New("the launcher is written for x86-64 and arm64")
	}
	fd, err := unix.MemfdCreate("tare-launcher", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all of them may be executed
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

// filter is the filter as the kernel reads it: struct sock_filter, one after the other. The library goes on to the next
// rule when an argument does not fit, with that argument in place of the number of the call. As all rules ask for
// the same argument, none can fit by mistake.
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
	// everything are all rights to files that the last version of Landlock here knows (V5).
	everything = syscall.AccessFSIoctlDev<<1 - 1
	// using is what is allowed everywhere: all but to make and to remove files.
	using = onFiles | syscall.AccessFSReadDir
	// onFiles are the rights that a rule for a file may give.
	onFiles = syscall.AccessFSExecute | syscall.AccessFSWriteFile | syscall.AccessFSReadFile | syscall.AccessFSTruncate | syscall.AccessFSIoctlDev
)

// rights are those that the kernel knows, by the version of its interface.
func rights(version int) uint64 {
	switch {
	case version < 2:
		return syscall.AccessFSRefer - 1
	case version < 3:
		return syscall.AccessFSTruncate - 1
	case version < 5:
		return syscall.AccessFSIoctlDev - 1
	}
	return everything
}

// ruleset makes the ruleset. It holds files as they are now, whatever root a program in front gives.
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
	more, err := files(unused, l.Rules-1-len(l.Writable))
	err = errors.Join(err, rule(fd, "/", using&handled))
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

// rule adds one rule.
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

// unused has the files that the rules are for that no program needs. They are on every system.
const unused = "/proc/sys"

// files lists so many files below a directory.
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
