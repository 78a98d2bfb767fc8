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

	"tare/internal/run/machine/proc"
)

// Scopes makes version 2 cgroups, one for each program and all its descendants. They cannot leave it by another
// session, user or environment, and can be killed together. Without limits, it costs nothing.
//
// The hierarchy is mounted for this process alone and has no path. Scopes therefore work on machines with version 1,
// and in containers with read-only cgroups. They need CAP_SYS_ADMIN in the first user namespace.
type Scopes struct {
	mount *os.File
	own   string // path of this process's cgroup below the mount
}

// OpenScopes tests whether this process may make cgroups and kill processes in them.
func OpenScopes() (*Scopes, error) {
	mount, err := Mounted("cgroup2")
	if err != nil {
		return nil, fmt.Errorf("mount cgroups of version 2: %w", err)
	}
	s := &Scopes{mount: mount, own: path.Join("/", proc.Groups(proc.Below("/"))[""])}
	tried, err := s.Group(nil, "tare-try-"+rand.Text())
	if err == nil {
		err = errors.Join(tried.start(), tried.kill(), tried.remove())
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("a cgroup for a program: %w", err)
	}
	return s, nil
}

// start tests whether a program can be started in the cgroup. This takes the system call clone3, which some seccomp
// profiles forbid.
func (s *Group) start() error {
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

// Mounted mounts a file system that the kernel makes, such as cgroup2. The mount has no path: only the returned file
// gives access to it.
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

// Close unmounts the hierarchy. The cgroups in it stay.
func (s *Scopes) Close() { _ = s.mount.Close() }

func (s *Scopes) path(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", s.mount.Fd()), name)
}

// Group makes a cgroup in the parent group or, if that is nil, in this process's own cgroup.
func (s *Scopes) Group(parent *Group, name string) (*Group, error) {
	group := path.Join(s.own, name)
	if parent != nil {
		group = path.Join(parent.group, name)
	}
	if err := os.Mkdir(s.path(group), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(s.path(group))
	if err != nil {
		_ = os.Remove(s.path(group))
		return nil, err
	}
	return &Group{of: s, group: group, dir: dir}, nil
}

// Left lists all cgroups whose name is accepted by the function wanted, in the whole hierarchy.
func (s *Scopes) Left(wanted func(name string) bool) (groups []*Group) {
	_ = fs.WalkDir(os.DirFS(s.path("/")), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && wanted(d.Name()) {
			groups = append(groups, &Group{of: s, group: path.Join("/", p)})
		}
		return nil
	})
	return groups
}

// Group is the cgroup of one program, or a cgroup that contains the cgroups of several programs.
type Group struct {
	of    *Scopes
	group string   // path of the cgroup below the mount
	dir   *os.File // directory, for starting programs in the cgroup; nil if Left returned the group
}

// Dir returns the group's directory. Remove closes it.
func (s *Group) Dir() *os.File { return s.dir }

// Name returns the name with which the group was made.
func (s *Group) Name() string { return path.Base(s.group) }

// Remove kills all processes in the group, and removes it.
func (s *Group) Remove() error { return errors.Join(s.kill(), s.remove()) }

// Processes lists the living processes in the cgroup and in cgroups below it.
func (s *Group) Processes() (pids []int) {
	for _, dir := range s.directories() {
		text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for line := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// directories lists the directories of the cgroup and of cgroups below it. A cgroup comes before those below it.
func (s *Group) directories() (dirs []string) {
	top := s.of.path(s.group)
	_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, p)
		}
		return nil
	})
	return dirs
}

// has reports whether a process, dead or alive, is in the cgroup or in a cgroup below it.
func (s *Group) has(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group == s.group || strings.HasPrefix(group, s.group+"/")
		}
	}
	return false
}

// unreported is the CPU time that Unreported returns, in nanoseconds.
var unreported atomic.Int64

// Unreported returns the CPU time of those processes of programs for which no parent waited. getrusage does not report
// this time.
func Unreported() time.Duration { return time.Duration(unreported.Load()) }

// used returns the CPU time of all processes that have run in the cgroup, even of those for which no parent waited. An
// unknown time is 0.
func (s *Group) used() (user, system time.Duration) {
	text, _ := os.ReadFile(filepath.Join(s.of.path(s.group), "cpu.stat"))
	times := map[string]time.Duration{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[name], _ = time.ParseDuration(value + "us") // an unreadable time is 0
	}
	return times["user_usec"], times["system_usec"]
}

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// kill kills all processes in the cgroup, including processes that are being forked. A missing cgroup is no error.
func (s *Group) kill() error {
	f, err := os.OpenFile(filepath.Join(s.of.path(s.group), "cgroup.kill"), os.O_WRONLY, 0)
	if isGone(err) { // before Linux 5.14 the file cgroup.kill does not exist
		for _, pid := range s.Processes() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err = f.WriteString("1"); isGone(err) {
		return nil // the cgroup is gone: a guard that runs tare clean may have removed it, for example
	}
	return err
}

// remove removes the cgroup. If a killed process is still in it, remove tries again for a second.
func (s *Group) remove() error {
	if s.dir != nil {
		_ = s.dir.Close()
	}
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		var err error
		dirs := s.directories()
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
