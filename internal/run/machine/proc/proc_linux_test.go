package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// rest holds the fields after the start time in a line of /proc/PID/stat.
var rest = strings.Repeat(" 0", 30)

// write makes a /proc of the given files, in which this process has the number 7.
func write(t *testing.T, files map[string]string) procfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, "proc", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("7", filepath.Join(root, "proc/self")); err != nil {
		t.Fatal(err)
	}
	return Below(root)
}

func TestAll(t *testing.T) {
	const user = 4194560
	type facts struct {
		State                 string
		Parent, Group         int
		Session               int
		Start                 uint64
		Own, Reaped           time.Duration
		Dead, Gone, IsAThread bool
	}
	line := func(name, state string, flags int) string {
		return "7 (" + name + ") " + state + " 1 2 3 4 5 " + strconv.Itoa(flags) + " 7 8 9 10 11 12 13 14 15 16 17 18 19" + rest
	}
	plain := facts{State: "S", Parent: 1, Group: 2, Session: 3, Start: 19, Own: 230 * time.Millisecond, Reaped: 270 * time.Millisecond}
	with := func(change func(*facts)) *facts { f := plain; change(&f); return &f }
	for name, c := range map[string]struct {
		line string
		want *facts // nil: it is left out
	}{
		"plain":                  {line("sh", "S", user), &plain},
		"a name like a state":    {line("a) R 1 (b", "S", user), &plain},
		"a name of brackets":     {line(")(", "S", user), &plain},
		"a name with an end":     {line("a) R 9 9 9\n", "S", user), &plain},
		"no name":                {line("", "S", user), &plain},
		"a zombie":               {line("sh", "Z", user), with(func(f *facts) { f.State, f.Dead, f.Gone = "Z", true, true })},
		"dead":                   {line("sh", "X", user), with(func(f *facts) { f.State, f.Dead, f.Gone = "X", true, true })},
		"about to end":           {line("sh", "S", user|flagExiting), with(func(f *facts) { f.Gone = true })},
		"a thread of the kernel": {line("a ) R b", "S", 2129984), with(func(f *facts) { f.IsAThread = true })},
		"negative time of children": {strings.Replace(line("sh", "S", user), " 13 14 ", " -13 -14 ", 1),
			with(func(f *facts) { f.Reaped = 0 })},
		"cut off":       {"7 (sh) S 1 2 3", nil},
		"no brackets":   {"7 sh S 1 2 3", nil},
		"half a name":   {"7 (", nil},
		"empty":         {"", nil},
		"not a number":  {strings.Replace(line("sh", "S", user), " 11 12 ", " 11 x ", 1), nil},
		"negative time": {strings.Replace(line("sh", "S", user), " 11 12 ", " -11 12 ", 1), nil},
	} {
		all := All(write(t, map[string]string{"7/stat": c.line, "8/stat": line("other", "S", user), "9/comm": "it has ended meanwhile"}))
		s, ok := all[7]
		if !ok || c.want == nil {
			if ok != (c.want != nil) || len(all) != 1 {
				t.Errorf("%s: %+v", name, all)
			}
			continue
		}
		got := facts{State: s.State, Parent: s.PPID, Group: s.PGRP, Session: s.Session, Start: s.Starttime,
			Own: s.Own(), Reaped: s.Reaped(), Dead: s.Dead(), Gone: s.Gone(), IsAThread: s.Kernel()}
		if d := cmp.Diff(*c.want, got); d != "" || s.PID != 7 || len(all) != 2 {
			t.Errorf("%s: (-want +got):\n%s", name, d)
		}
	}
	if all := All(Below(t.TempDir())); len(all) > 0 {
		t.Errorf("without /proc: %v", all)
	}
}

// FuzzName: a program's name does not change how the other fields are read.
func FuzzName(f *testing.F) {
	f.Add("sh")
	f.Add("a) R 1 (b")
	f.Add("\x00\n) Z 0")
	f.Fuzz(func(t *testing.T, name string) {
		s := All(write(t, map[string]string{"7/stat": "7 (" + name + ") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" + rest}))[7]
		if s.State != "S" || s.PPID != 1 || s.PGRP != 2 || s.Starttime != 19 || s.Comm != name {
			t.Errorf("%+v", s)
		}
	})
}

// TestRead reads the state of a process that runs, has ended, or was reaped.
func TestRead(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	s, err := Read(pid)
	if err != nil || s.PID != pid || s.PPID != os.Getpid() || s.Gone() || s.Kernel() || s.Clock() < 0 {
		t.Errorf("%+v, %v", s, err)
	}
	var peak Peak
	peak.Look(pid)
	if peak.Bytes() == 0 {
		t.Error("no memory")
	}
	if children, listed := Children("/", os.Getpid()); listed && !slices.Contains(children, pid) {
		t.Errorf("children %v, not %d", children, pid)
	}
	in.Close()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if dead, err := Read(pid); err != nil || !dead.Dead() || dead.Starttime != s.Starttime || dead.Clock() == 0 {
		t.Errorf("%+v, %v", dead, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reaped: %v", err)
	}
	if s.UTime, s.STime = 3, 4; s.Clock() != s.Own() {
		t.Errorf("without a clock it is %v, want the ticks", s.Clock())
	}
}

func TestGroups(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"0::/a/b\n": {"": "/a/b"},
		"3:cpu,cpuacct:/a\n2:memory:/b:c\n1:name=systemd:/d\n0::/e\n": {
			"cpu": "/a", "cpuacct": "/a", "memory": "/b:c", "name=systemd": "/d", "": "/e"},
		"":         {},
		"nonsense": {},
	} {
		if d := cmp.Diff(want, Groups(write(t, map[string]string{"7/cgroup": text}))); d != "" {
			t.Errorf("%q: (-want +got):\n%s", text, d)
		}
	}
	if got := Groups(Below(t.TempDir())); len(got) > 0 {
		t.Errorf("without /proc: %v", got)
	}
}
