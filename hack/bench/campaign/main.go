//go:build linux

// Command campaign kills Tare at random moments and looks at what is left and what is
// lost: go -C hack/bench run ./campaign -tare bin/tare -kills 200 -seed 1.
//
// Each kill is of a run of programs that leave processes behind, leave their cgroups, or mount somebody's directory below their
// own; of a run with WireGuard, with a volume, or with all layers that work on this machine, whose probes start programs too;
// of the session that goes on with one of these; of tare doctor --try, of an import, or of the writing of a report. It is
// of Tare alone, of all its processes at once but its guard, or of one of its children, which
// may be its guard or a helper. Before that, the power of a disk fails after an import, after a run and
// during one. Afterwards no process, cgroup, mount or temporary file of it may
// be left, and what was mounted must be whole; every trial that had been recorded must be there; tare resume must complete the
// run, with its report; and tare verify must find it whole.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
	"tare/internal/run/machine/proc"
)

// campaign is what the kills have in common.
type campaign struct {
	tare   string
	dir    string
	random *rand.Rand
	faults []string
	kills  map[string]int // by scenario
	// failures says that the power of a disk fails, too.
	failures bool
}

func main() {
	var c campaign
	kills := flag.Int("kills", 40, "how often to kill")
	seed := flag.Uint64("seed", 1, "of the moments and the victims")
	flag.StringVar(&c.tare, "tare", "../../bin/tare", "the program")
	flag.BoolVar(&c.failures, "power", true, "let the power of a disk fail as well (ext4 on a loop device)")
	flag.Parse()
	c.random = random(*seed)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.carryOut(ctx, *kills); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
	if len(c.faults) > 0 {
		os.Exit(1)
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func (c *campaign) carryOut(ctx context.Context, kills int) (err error) {
	if c.tare, err = filepath.Abs(c.tare); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp("", "tare-campaign-"); err != nil {
		return err
	}
	defer owned.Remove(c.dir)
	if err := errors.Join(os.Mkdir(c.temporary(), 0o755), os.Setenv("TMPDIR", c.temporary())); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if c.failures {
		if err := c.power(); err != nil {
			return fmt.Errorf("power failures: %w", err)
		}
	}
	c.kills = map[string]int{}
	trials, done := map[string]int{}, 0
	for n := 0; done < kills; n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := scenarios[n%len(scenarios)]
		trials[s.name] += c.try(s, filepath.Join(c.dir, fmt.Sprintf("run-%d", n)))
		done = 0
		for _, n := range c.kills {
			done += n
		}
		fmt.Printf("%d of %d kills, %d faults (the last: %s)\n", done, kills, len(c.faults), s.name)
	}
	for _, s := range slices.Concat(scenarios, []scenario{{name: resumed}}) {
		fmt.Printf("%-26s killed %d times\n", s.name, c.kills[s.name])
		if s.run && c.kills[s.name] > 10 && trials[s.name] == 0 {
			c.fault("%s: no trial was recorded before any kill: nothing was tried", s.name)
		}
	}
	fmt.Printf("%d kills, %d faults; trials recorded before a kill: %v\n", done, len(c.faults), trials)
	return nil
}

// temporary is where temporary files are, of this campaign alone.
func (c *campaign) temporary() string { return filepath.Join(c.dir, "tmp") }

// victim is a file of the user's, whose directory is mounted by a server.
func (c *campaign) victim() string { return filepath.Join(c.dir, "victim", "data") }

// prepare writes what is run, and makes the run whose report is written.
func (c *campaign) prepare() error {
	var table bytes.Buffer
	table.WriteString("arm,round,metric,unit,better,value\n")
	for round := range 3000 {
		fmt.Fprintf(&table, "plain,%d,latency,ms,lower,%d\nmtls,%d,latency,ms,lower,%d\n", round+1, 100+round%7, round+1, 110+round%5)
	}
	arms, volumes, err := c.layers()
	if err != nil {
		return err
	}
	fill := strings.NewReplacer("STRAYED", strayed, "VICTIM", filepath.Dir(c.victim()), "CGROUPS", cgroups(), "LAYERS", arms, "LAYER", volumes)
	for name, text := range map[string]string{"strays": strays, "wireguard": wireguard, "bound": bound, "machine": machine, "volume": volume, "proxied": proxied} {
		file := filepath.Join(c.dir, name+".yaml")
		if err := os.WriteFile(file, []byte(fill.Replace(text)), 0o644); err != nil {
			return err
		}
		if out, err := exec.Command(c.tare, "plan", file).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(c.victim()), 0o755), os.WriteFile(c.victim(), []byte("the user's"), 0o644),
		os.WriteFile(filepath.Join(c.dir, "table.csv"), table.Bytes(), 0o644)); err != nil {
		return err
	}
	out, err := exec.Command(c.tare, "import", "csv", filepath.Join(c.dir, "table.csv"), "--dir", filepath.Join(c.dir, "reported"), "-q").CombinedOutput()
	if err != nil {
		return fmt.Errorf("import: %w\n%s", err, out)
	}
	return nil
}

func (c *campaign) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
	fmt.Println("FAULT:", c.faults[len(c.faults)-1])
}

// resumed is the name of the session that goes on with a run.
const resumed = "resumed session"

// try kills a scenario, and perhaps the session that goes on with its run. It gives how many
// trials were on record when the scenario was killed.
func (c *campaign) try(s scenario, run string) (recorded int) {
	c.kill(s, s.args(c, run))
	if !s.run {
		c.intact(s, run)
		return 0
	}
	if !journal.IsRun(run) { // it had not begun, and what there is stands in nobody's way
		if out, err := exec.Command(c.tare, s.args(c, run)...).CombinedOutput(); err != nil && exitCode(err) != 5 {
			c.fault("%s: run again: %v\n%s", s.name, err, out)
		}
		return 0
	}
	before, err := journal.Open(run)
	if err != nil {
		c.fault("%s: %v", s.name, err)
		return 0
	}
	if c.random.IntN(2) == 0 {
		c.kill(scenario{name: resumed, last: s.last}, []string{"resume", run, "-q"})
	}
	c.goesOn(s, run, before)
	return len(before.Trials)
}

// kill begins something, kills it, and looks what runs.
func (c *campaign) kill(s scenario, args []string) {
	c.kills[s.name]++
	cmd := exec.Command(c.tare, args...)
	cmd.Dir = c.dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		c.fault("%s: %v", s.name, err)
		return
	}
	time.Sleep(time.Duration(c.random.Int64N(int64(s.last))))
	family, guarded := descendants(cmd.Process.Pid), true
	pids := slices.Sorted(maps.Keys(family))
	switch c.random.IntN(3) {
	case 0:
		_ = cmd.Process.Kill()
	case 1: // all but the guard, which has a session of its own
		for _, pid := range append(pids, cmd.Process.Pid) {
			if stat, err := proc.Read(pid); err == nil && !isGuard(pid) && !stat.Dead() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	case 2: // a child alone; then Tare
		if len(pids) > 0 {
			victim := pids[c.random.IntN(len(pids))]
			guarded = !isGuard(victim)
			_ = syscall.Kill(victim, syscall.SIGKILL)
			time.Sleep(time.Duration(c.random.Int64N(int64(300 * time.Millisecond))))
			maps.Copy(family, descendants(cmd.Process.Pid))
		}
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	c.nothingRuns(s, guarded, cmd.Process.Pid, family)
}

// isGuard says whether a process is a guard, or the tare clean that it has become.
func isGuard(pid int) bool {
	text := commandLine(pid)
	return strings.Contains(text, "tare-guard") || strings.HasSuffix(text, " clean --guard")
}

// nothingRuns waits a little for the guard, if it lives, and then looks itself; without the
// guard it takes tare clean. Family are the processes below the one that was killed.
func (c *campaign) nothingRuns(s scenario, guarded bool, killed int, family map[int]proc.Stat) {
	var left []string
	for range 100 {
		if left = alive(family); len(left) == 0 || !guarded {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if guarded && len(left) > 0 {
		c.fault("%s: left running: %q", s.name, left)
	}
	if out, err := exec.Command(c.tare, "clean").CombinedOutput(); err != nil {
		c.fault("%s: clean: %v\n%s", s.name, err, out)
	}
	if left := alive(family); len(left) > 0 {
		c.fault("%s: left running after tare clean: %q", s.name, left)
	}
	if left, _ := filepath.Glob(filepath.Join(c.temporary(), "*")); left != nil {
		c.fault("%s: temporary files are left: %v", s.name, left)
	}
	if text, err := os.ReadFile(c.victim()); err != nil || len(text) == 0 {
		c.fault("%s: the user's file is gone: %v", s.name, err)
		_ = os.WriteFile(c.victim(), []byte("the user's"), 0o644)
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); bytes.Contains(mounts, []byte(" "+c.dir+"/")) {
		c.fault("%s: something is mounted below %s", s.name, c.dir)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/tare-run-%d-*", "/sys/fs/cgroup/*/tare-run-%d-*"} {
		if left, _ := filepath.Glob(fmt.Sprintf(pattern, killed)); left != nil {
			c.fault("%s: cgroups are left: %v", s.name, left)
		}
	}
}

// intact says whether what was not to be a run yet is none, and what was is one.
func (c *campaign) intact(s scenario, run string) {
	for _, dir := range []string{run, filepath.Join(c.dir, "reported")} {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if out, err := exec.Command(c.tare, "verify", dir).CombinedOutput(); err != nil {
			c.fault("%s: %v\n%s", s.name, err, out)
		}
	}
	if out, err := exec.Command(c.tare, "clean", c.dir).CombinedOutput(); err != nil {
		c.fault("%s: clean: %v\n%s", s.name, err, out)
	}
	c.noTemporaries(s, c.dir)
}

// goesOn resumes a run that was killed, and compares it with what was on record before.
func (c *campaign) goesOn(s scenario, run string, before *journal.Run) {
	if out, err := exec.Command(c.tare, "resume", run, "-q").CombinedOutput(); err != nil && exitCode(err) != 5 { // 5: its control may differ
		c.fault("%s: resume: %v\n%s", s.name, err, out)
		return
	}
	after, err := journal.Open(run)
	switch {
	case err != nil:
		c.fault("%s: %v", s.name, err)
		return
	case !after.Finished:
		c.fault("%s: resumed, and not finished", s.name)
	case len(after.Trials) < len(before.Trials):
		c.fault("%s: %d trials were on record, and are %d", s.name, len(before.Trials), len(after.Trials))
		return
	}
	for i := range before.Trials {
		if !before.Trials[i].Start.Equal(after.Trials[i].Start) || before.Trials[i].Arm != after.Trials[i].Arm {
			c.fault("%s: trial %d is another", s.name, i+1)
		}
	}
	if out, err := exec.Command(c.tare, "verify", run).CombinedOutput(); err != nil {
		c.fault("%s: verify: %v\n%s", s.name, err, out)
	}
	if _, err := os.Stat(filepath.Join(run, "report.html")); err != nil {
		c.fault("%s: no report: %v", s.name, err)
	}
	c.noTemporaries(s, run)
}

// noTemporaries looks for files that were to be renamed.
func (c *campaign) noTemporaries(s scenario, dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), "tare-output-") || strings.HasSuffix(d.Name(), ".new") || strings.Contains(d.Name(), ".unfinished-")) {
			c.fault("%s: %s is left", s.name, path)
		}
		return nil
	})
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// descendants are the processes below one.
func descendants(of int) map[int]proc.Stat {
	all, family := proc.All(proc.Below("/")), map[int]proc.Stat{}
	for pid, stat := range all {
		for at := pid; at > 1; at = all[at].PPID {
			if at == of && pid != of {
				family[pid] = stat
				break
			}
		}
	}
	return family
}

// alive are the command lines of those of some processes that still run, but for guards, and
// of what hid from its Tare.
func alive(family map[int]proc.Stat) (left []string) {
	for pid, stat := range proc.All(proc.Below("/")) {
		was, known := family[pid]
		text := commandLine(pid)
		if now, err := proc.Read(pid); err != nil || now.Gone() {
			continue // it ended meanwhile
		}
		if !stat.Gone() && !isGuard(pid) && (known && was.Starttime == stat.Starttime || strings.HasPrefix(text, strayed)) {
			left = append(left, text)
		}
	}
	return left
}

func commandLine(pid int) string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return ""
	}
	words, _ := p.CmdLine()
	return strings.Join(words, " ")
}
