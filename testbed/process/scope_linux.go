package process

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/machine/proc"
)

// Scopes are cgroups of version 2, one for each program. Whatever a program starts is
// born into its cgroup and cannot leave it by clearing its environment, by another
// session, or by another user; and it is killed as a whole. A cgroup that limits nothing
// costs a program nothing.
//
// The hierarchy is mounted for this process alone and has no name: version 2 is there
// on a machine that uses version 1 as well, and in a container that sees its cgroups
// read-only. It takes CAP_SYS_ADMIN in the first user namespace.
type Scopes struct {
	mount *os.File
	own   string // path of this process's cgroup, below the mount
}

// OpenScopes finds out, by trying, whether this process may make cgroups and kill what
// is in them.
func OpenScopes() (*Scopes, error) {
	mount, err := Mounted("cgroup2")
	if err != nil {
		return nil, fmt.Errorf("mount cgroups of version 2: %w", err)
	}
	s := &Scopes{mount: mount, own: path.Join("/", proc.Groups(proc.Below("/"))[""])}
	tried, err := s.open(nil, "tare-try-"+rand.Text())
	if err == nil {
		err = errors.Join(tried.start(), tried.kill(), tried.remove())
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("a cgroup for a program: %w", err)
	}
	return s, nil
}

// start starts a program in it, which takes the system call clone3: profiles of seccomp refuse that. Where there is no
// program, it is not tried.
func (s *scope) start() error {
	program, err := exec.LookPath("true")
	if err != nil {
		return nil
	}
	cmd := exec.Command(program)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(s.dir.Fd()), Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("start a program in it by clone3: %w", err)
	}
	return nil
}

// Mounted mounts a file system of the kernel's, such as cgroup2, where only the file given leads.
func Mounted(kind string) (*os.File, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(context) }()
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, err
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(mount), kind), nil
}

// Close lets the hierarchy go; its cgroups stay.
func (s *Scopes) Close() { _ = s.mount.Close() }

// at is the path of a cgroup for this process.
func (s *Scopes) at(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", s.mount.Fd()), name)
}

// Group is a cgroup in which the programs of several orders are, each in one of its own.
type Group struct{ scope *scope }

// Group makes one below this process's own, or in another group. Its name is one that Left can
// tell from others.
func (s *Scopes) Group(within *Group, name string) (*Group, error) {
	made, err := s.open(within, name)
	if err != nil {
		return nil, err
	}
	return &Group{made}, nil
}

// Dir is its directory, which is closed by Remove.
func (g *Group) Dir() *os.File { return g.scope.dir }

// Remove kills what is in it, and removes it.
func (g *Group) Remove() error {
	err := g.scope.kill()
	return errors.Join(err, g.scope.remove())
}

// open makes a cgroup below this process's own, or in a group.
func (s *Scopes) open(within *Group, name string) (*scope, error) {
	group := path.Join(s.own, name)
	if within != nil {
		group = path.Join(within.scope.group, name)
	}
	if err := os.Mkdir(s.at(group), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(s.at(group))
	if err != nil {
		_ = os.Remove(s.at(group))
		return nil, err
	}
	return &scope{of: s, group: group, dir: dir}, nil
}

// Left lists the cgroups whose names are wanted, wherever they are.
func (s *Scopes) Left(wanted func(name string) bool) (groups []string) {
	_ = fs.WalkDir(os.DirFS(s.at("/")), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && wanted(d.Name()) {
			groups = append(groups, path.Join("/", p))
		}
		return nil
	})
	return groups
}

// Processes lists those that are alive in a cgroup that Left gave.
func (s *Scopes) Processes(group string) []int { return (&scope{of: s, group: group}).processes() }

// End kills what is in such a cgroup, and removes it.
func (s *Scopes) End(group string) error {
	left := &scope{of: s, group: group}
	if err := left.kill(); err != nil {
		return err
	}
	return left.remove()
}

// scope is the cgroup of a program.
type scope struct {
	of    *Scopes
	group string
	dir   *os.File // by which a program is born into it; nil where none is to be
}

// processes lists those that are alive in it and below.
func (s *scope) processes() (pids []int) {
	for _, dir := range s.all() {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for line := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// all are the directories of the cgroup and of those that programs have made below it,
// the deepest last.
func (s *scope) all() (dirs []string) {
	top := s.of.at(s.group)
	_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	return dirs
}

// has says whether a process, which may be dead and not reaped yet, is in it.
func (s *scope) has(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group == s.group || strings.HasPrefix(group, s.group+"/")
		}
	}
	return false
}

// unseen is the CPU time of programs of this process that no resource usage has.
var unseen atomic.Int64

// Unseen is the CPU time that programs of this process have used beyond what getrusage tells of its children, since this
// process began: that of processes which ended without being waited for.
func Unseen() time.Duration { return time.Duration(unseen.Load()) }

// used is the CPU time of all that has run in it, also of processes that nobody waited for: those of a program that ignores
// their ends, as the first of a process id namespace does while it dies. Zeros: not told.
func (s *scope) used() (user, system time.Duration) {
	text, _ := os.ReadFile(filepath.Join(s.of.at(s.group), "cpu.stat"))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "user_usec":
			user = time.Duration(n) * time.Microsecond
		case "system_usec":
			system = time.Duration(n) * time.Microsecond
		}
	}
	return user, system
}

// gone says whether an error is that a cgroup, or its file, is not there any more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// kill kills everything in it, also what is just being forked. One that is gone is no error.
func (s *scope) kill() error {
	f, err := os.OpenFile(filepath.Join(s.of.at(s.group), "cgroup.kill"), os.O_WRONLY, 0)
	if gone(err) { // before Linux 5.14 the file is never there
		for _, pid := range s.processes() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err = f.WriteString("1"); gone(err) {
		return nil // another process has removed the cgroup meanwhile, as a guard does while tare clean looks
	}
	return err
}

// remove removes it once it is empty, which the last killed process may delay a little.
func (s *scope) remove() error {
	if s.dir != nil {
		_ = s.dir.Close()
	}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		var err error
		dirs := s.all()
		for i := len(dirs) - 1; i >= 0; i-- {
			if e := unix.Rmdir(dirs[i]); e != nil && e != unix.ENOENT {
				err = fmt.Errorf("remove cgroup %s: %w", s.group, e)
			}
		}
		if err == nil || time.Since(begun) > time.Second {
			return err
		}
		_ = s.kill()
	}
}
