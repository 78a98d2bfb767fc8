package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tare/internal/cli"
	"tare/internal/experiment"
	"tare/internal/layer"
	"tare/internal/layer/apparmor"
	"tare/internal/layer/cgroupbpf"
	"tare/internal/layer/luks"
	"tare/internal/run/journal"
	"tare/internal/test/apart"
	"tare/internal/test/fit"
	"tare/internal/test/golden"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

func TestMain(m *testing.M) {
	tare := func() {
		signal.Reset()
		os.Exit(cli.Main(os.Args[1:], cli.System()))
	}
	if testbed.HelperName() != "" {
		tare() // the process is a layer's own, started by a run in a test
	}
	called := filepath.Base(os.Args[0])
	if called != "tare" && called != cli.PluginName && os.Getenv("TARE_TEST_KUBECONFIG") == "" {
		apart.Rerun() // tests of a cluster need the process IDs of its nodes
	}
	testscript.Main(m, map[string]func(){"tare": tare, cli.PluginName: tare})
}

// TestScripts is the specification of the command line: one readable script for each task of a user. Each
// script runs in its own PID namespace, so that it does not see leftovers of another one.
func TestScripts(t *testing.T) {
	t.Parallel()
	each(t, "testdata/script/*.txtar", func(t *testing.T) testing.TB { t.Parallel(); return t })
}

// TestRealTimeScripts runs the scripts of workloads that must keep to a rate.
func TestRealTimeScripts(t *testing.T) {
	each(t, "testdata/realtime/*.txtar", func(t *testing.T) testing.TB { return fit.Machine(t) })
}

// each runs scripts. Every script gets a judge of its own.
func each(t *testing.T, pattern string, judge func(*testing.T) testing.TB) {
	scripts, err := filepath.Glob(pattern)
	if err != nil || scripts == nil {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txtar"), func(t *testing.T) {
			judged := judge(t)
			if _, err := os.ReadFile(script); err != nil { // reading the script makes go test's cache depend on it
				t.Fatal(err)
			}
			if !apart.Test(t) {
				testscript.RunT(alone{inOrder{t}, judged}, params(script))
			}
		})
	}
}

// alone is the test of one script.
type alone struct {
	inOrder
	judged testing.TB
}

// Run runs the script under the test's own name.
func (t alone) Run(_ string, script func(testscript.T)) { script(t) }

// FailNow is called if the script failed. The log contains the reason.
func (t alone) FailNow() { t.judged.Fatal("the script") }

// params returns the settings of a script.
func params(script string) testscript.Params {
	return testscript.Params{
		Files:         []string{script},
		UpdateScripts: golden.Update(),
		Condition:     condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"killed":       killed,
			"nothing-left": nothingLeft,
			"wait-trial":   waitTrial,
			"tear":         tear,
			"unchain":      unchain,
			"forge":        forge,
			"lines":        lines,
			"vault-files":  vaultFiles,
			"hostile":      hostile,
			"nightly":      nightly,
			"exits":        exits,
			"swept":        swept,
			"proofs":       proofs,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			for name, file := range map[string]string{"README": "../../README.md", "KREW": "../../hack/deploy/krew", "NIGHT": "../../examples/ci/night.sh"} {
				path, err := filepath.Abs(file)
				if err != nil {
					return err
				}
				env.Setenv(name, path)
			}
			if cache, err := os.UserCacheDir(); err == nil {
				env.Setenv("CACHE", cache) // the directory where make puts programs
			}
			return nil
		},
	}
}

// condition reports whether this machine has a feature that a script depends on.
func condition(name string) (bool, error) {
	if testing.Short() && slices.Contains([]string{"network", "volume", "dm-crypt"}, name) {
		return false, nil // a script with real measurements
	}
	switch name {
	case "network":
		_, err := exec.LookPath("iperf3")
		return err == nil && canUnshare(), nil
	case "envoy":
		return installed("envoy", "envoy"), nil
	case "openbao":
		return installed("openbao", "bao"), nil
	case "cgroup-bpf":
		return cgroupbpf.Kind.Probe(context.Background())[0].Status == testbed.Works, nil
	case "root":
		return os.Geteuid() == 0, nil
	case "volume":
		for _, program := range []string{"fio", "gocryptfs", "bindfs", "mkfs.ext4"} {
			if _, err := exec.LookPath(program); err != nil {
				return false, nil
			}
		}
		works := func(f testbed.Finding) bool { return f.Status == testbed.Works }
		return slices.ContainsFunc(local.ProbeVolume(context.Background()), works), nil
	case "apparmor":
		return worksHere(apparmor.Kind), nil
	case "dm-crypt":
		_, err := exec.LookPath("fio")
		return err == nil && worksHere(luks.Kind), nil
	case "kubectl":
		_, err := exec.LookPath("kubectl")
		return err == nil, nil
	}
	return false, nil
}

// worksHere reports whether this machine can run a layer.
func worksHere(k layer.Kind) bool {
	return slices.ContainsFunc(k.Probe(context.Background()), func(f testbed.Finding) bool { return f.Status == testbed.Works })
}

// installed reports whether a program is on PATH, or in make's directory.
func installed(target, program string) bool {
	cache, _ := os.UserCacheDir()
	return slices.ContainsFunc([]string{program, filepath.Join(cache, "tare", target, program)}, func(p string) bool {
		_, err := exec.LookPath(p)
		return err == nil
	})
}

// killed kills the process whose number is in a file, by SIGKILL: killed FILE.
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: killed PIDFILE")
	}
	file, pid := ts.MkAbs(args[0]), ""
	awaited(ts, "a number in "+file, func() bool {
		text, _ := os.ReadFile(file)
		pid = strings.TrimSpace(string(text))
		return strings.HasSuffix(string(text), "\n")
	})
	ts.Check(os.Remove(file)) // a later process must not find the old number
	ts.Check(exec.Command("kill", "-9", pid).Run())
}

// waitTrial waits until a run has recorded this many trials: wait-trial DIR N.
func waitTrial(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: wait-trial DIR N")
	}
	file := ts.MkAbs(args[0] + "/trials.jsonl")
	awaited(ts, args[1]+" trials in "+file, func() bool {
		data, _ := os.ReadFile(file)
		return strings.Count(string(data), "\n") >= number(ts, args[1])
	})
}

// nothingLeft fails if a process that a run of this script started still exists: nothing-left.
func nothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 0 || neg {
		ts.Fatalf("usage: nothing-left")
	}
	awaited(ts, "nothing left", func() bool {
		return len(append(started(ts.Getenv("WORK")), volumesBelow(ts.Getenv("WORK"))...)) == 0
	})
}

// awaited waits until a condition holds, also on a busy machine.
func awaited(ts *testscript.TestScript, what string, so func() bool) {
	for end := time.Now().Add(20 * time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

// volumesBelow lists the loop devices on files below a work directory, and the directories of volumes.
func volumesBelow(work string) []string {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	found, _ := filepath.Glob(work + "/.tmp/tare-volume-[0-9]*")
	for _, file := range files {
		if of, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(of), work+"/") {
			found = append(found, file+": "+string(of))
		}
	}
	return found
}

// started lists the processes below a work directory, by their environment.
func started(work string) []string {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, file := range files {
		environ, _ := os.ReadFile(file) // the process has ended, or belongs to another user
		if strings.Contains(string(environ), "HOME="+work+"\x00") {
			command, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// tear cuts the last bytes off a file, as a crash while writing does: tear FILE.
func tear(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: tear FILE")
	}
	name := ts.MkAbs(args[0])
	info, err := os.Stat(name)
	ts.Check(err)
	ts.Check(os.Truncate(name, info.Size()-20))
}

// unchain turns a run into one of an older Tare, whose record a script can change: unchain RUN.
func unchain(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: unchain RUN")
	}
	for _, log := range []string{journal.TrialsFile, journal.NotesFile} {
		name := ts.MkAbs(filepath.Join(args[0], log))
		ts.Check(os.WriteFile(name, chains.ReplaceAll([]byte(ts.ReadFile(name)), nil), 0o644))
	}
	older := strings.NewReplacer(experiment.PlanSchema, experiment.PlanSchemaV1, `"version": "`, `"version": "0.0.1-`, `"tareVersion": "`, `"tareVersion": "0.0.1-`)
	for _, file := range []string{journal.PlanFile, journal.EnvironmentFile} {
		name := ts.MkAbs(filepath.Join(args[0], file))
		if text, err := os.ReadFile(name); err == nil { // an import has no environment
			ts.Check(os.WriteFile(name, []byte(older.Replace(string(text))), 0o644))
		}
	}
}

// forge recomputes the digests and chains of a changed run, as docs/run-directory.md describes them: forge RUN.
func forge(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: forge RUN")
	}
	hash := func(parts ...string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "")))) }
	name := func(file string) string { return ts.MkAbs(filepath.Join(args[0], file)) }
	notes := strings.SplitAfter(ts.ReadFile(name(journal.NotesFile)), "\n")
	plan := hash(ts.ReadFile(name(journal.PlanFile)))
	notes[0] = regexp.MustCompile(`"plan.json":"[0-9a-f]*"`).ReplaceAllString(notes[0], `"plan.json":"`+plan+`"`)
	seal := func(line, before string) (sealed, chain string) {
		body, _, _ := strings.Cut(line, `,"chain":"`)
		chain = hash(before, body)
		return body + `,"chain":"` + chain + "\"}\n", chain
	}
	first, begin := seal(notes[0], "")
	head, text := hash(plan, begin), ""
	heads := []string{head}
	for line := range strings.Lines(ts.ReadFile(name(journal.TrialsFile))) {
		line, head = seal(line, head)
		text, heads = text+line, append(heads, head)
	}
	ts.Check(os.WriteFile(name(journal.TrialsFile), []byte(text), 0o644))
	text = first
	for _, line := range notes[1 : len(notes)-1] {
		var note journal.Note
		ts.Check(json.Unmarshal([]byte(line), &note))
		line, begin = seal(strings.Replace(line, note.Head, heads[note.Trials], 1), begin)
		text += line
	}
	ts.Check(os.WriteFile(name(journal.NotesFile), []byte(text), 0o644))
}

// chains matches the digests and chains of a record.
var chains = regexp.MustCompile(`,"chain":"[0-9a-f]*"|"trials":[0-9]+,|"head":"[0-9a-f]*",|,"files":\{[^}]*\}`)

// lines checks the number of lines of a file: lines FILE N.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: lines FILE N")
	}
	got := strings.Count(ts.ReadFile(args[0]), "\n")
	if want := number(ts, args[1]); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[0], got, want)
	}
}

// exits runs a program that must end with a status: exits STATUS PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARG...]")
	}
	want, got := number(ts, args[0]), 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var status *exec.ExitError
		if !errors.As(err, &status) {
			ts.Fatalf("%v", err)
		}
		got = status.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v ends with status %d, want %d", args[1:], got, want)
	}
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}
