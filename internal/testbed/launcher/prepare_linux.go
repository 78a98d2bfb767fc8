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

// open makes a file in memory with this content. It returns the number that the file's descriptor has in the
// command.
func (p *prepared) open(content []byte) (string, error) {
	if len(content) == 0 {
		return "", errors.New("the launcher is written for x86-64 and arm64")
	}
	fd, err := unix.MemfdCreate("tare-launcher", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all files in memory are executable
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

// filter returns the filter in the kernel's format: a sequence of struct sock_filter. If the argument of a
// call does not match a rule, the library's code goes on to the next rule. There it compares the argument,
// and no longer the number of the call. Here this is harmless: all rules have the same condition, and so no
// later rule can match.
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
	// allRights is the set of all rights to files in the newest known version of Landlock (V5).
	allRights = syscall.AccessFSIoctlDev<<1 - 1
	// grantedEverywhere is the set of rights that are granted everywhere. It has all rights except creating
	// and removing files.
	grantedEverywhere = fileRights | syscall.AccessFSReadDir
	// fileRights is the set of rights that a rule for a file may grant.
	fileRights = syscall.AccessFSExecute | syscall.AccessFSWriteFile | syscall.AccessFSReadFile | syscall.AccessFSTruncate | syscall.AccessFSIoctlDev
)

// rights returns the rights that a kernel with this version of Landlock knows.
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

// ruleset makes the ruleset. Its rules are for the files that Tare sees now, even if a wrapper changes the
// root directory later.
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
	more, err := files(paddingDir, l.Rules-1-len(l.Writable))
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

// paddingDir is a directory whose files the additional rules are for. Every system has the directory, and no
// program needs the files.
const paddingDir = "/proc/sys"

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
