package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tare/internal/cli"
	"tare/internal/importer/vaultbench/vaultbenchtest"
)

// vaultFiles is the script command "vault-files DIR": it writes the published runs of vault-benchmark as files
// below DIR, REPLICASreplicas/PLATFORM/results-TIME.json.
func vaultFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: vault-files DIR")
	}
	t := scriptT{ts: ts}
	vaultbenchtest.Write(t, ts.MkAbs(args[0]), vaultbenchtest.Study(t))
}

// scriptT lets helpers for tests fail a script.
type scriptT struct {
	testing.TB
	ts *testscript.TestScript
}

func (scriptT) Helper()             {}
func (t scriptT) Fatal(args ...any) { t.ts.Fatalf("%s", fmt.Sprint(args...)) }

// hostile is the script command "hostile DIR": it makes files and links below DIR that no archive can contain,
// or that would change in an archive.
func hostile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hostile DIR")
	}
	in := func(name string) string { return filepath.Join(ts.MkAbs(args[0]), name) }
	ts.Check(os.WriteFile(in("nul.json"), make([]byte, 1000), 0o644))
	ts.Check(os.WriteFile(in("name\nwith \x1b[31mescape.json"), []byte("{}"), 0o644))
	ts.Check(os.WriteFile(in("escape.json"), []byte("{\"metrics\": {\"\\u001b[31mred\\n<script>\": {\"latencies\": {\"mean\": 5}, \"requests\": 3, \"throughput\": 1, \"success\": 1}}}"), 0o644))
	ts.Check(os.WriteFile(in("sparse.json"), nil, 0o644))
	ts.Check(os.Truncate(in("sparse.json"), 200<<20))
	ts.Check(os.WriteFile(in("unreadable.json"), []byte("{}"), 0))
	ts.Check(os.Symlink("..", in("out")))
	ts.Check(os.Symlink(".", in("loop")))
	ts.Check(os.Symlink("self.json", in("self.json")))
	ts.Check(os.Symlink("/etc/passwd", in("outside.json")))
	ts.Check(exec.Command("mkfifo", in("pipe.json")).Run())
}

// BenchmarkImport imports, analyses and writes a report, as tare import does:
//
//	go test ./internal/cli -run '^$' -bench Import
//
// The files are the 600 published runs of vault-benchmark. The tables have 100,000 rows each. Runs stay until
// the end: on ext4, making a file takes several times as long for some seconds after many files were removed.
func BenchmarkImport(b *testing.B) {
	b.Run("600 files", func(b *testing.B) {
		dir := b.TempDir()
		vaultbenchtest.Write(b, dir, vaultbenchtest.Study(b))
		args := []string{"vault-benchmark"}
		for _, arm := range []string{"aks", "c11n", "gke"} {
			for _, replicas := range []string{"2", "5"} {
				args = append(args, "--arm", arm+replicas+"="+filepath.Join(dir, replicas+"replicas", arm))
			}
		}
		benchImport(b, args)
	})
	for _, shape := range []struct{ arms, metrics, rounds int }{{2, 5, 10_000}, {4, 5, 5_000}, {10, 100, 100}, {2, 1, 50_000}} {
		b.Run(fmt.Sprintf("csv of %d arms %d metrics %d rounds", shape.arms, shape.metrics, shape.rounds), func(b *testing.B) {
			table := filepath.Join(b.TempDir(), "table.csv")
			if err := os.WriteFile(table, longTable(shape.arms, shape.metrics, shape.rounds), 0o644); err != nil {
				b.Fatal(err)
			}
			benchImport(b, []string{"csv", table})
		})
	}
}

func benchImport(b *testing.B, args []string) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		var stdout, stderr bytes.Buffer
		to := filepath.Join(dir, fmt.Sprint(i))
		code := cli.Main(append([]string{"import", "--quiet", "--dir", to}, args...), cli.State{Stdout: &stdout, Stderr: &stderr})
		if code != cli.ExitDone && code != cli.ExitInvalid {
			b.Fatal(stderr.String())
		}
		if _, err := os.Stat(filepath.Join(to, "report.html")); err != nil {
			b.Fatal(err)
		}
	}
}

// longTable returns a long CSV with values that vary by 5 % and arms that differ by 1 %.
func longTable(arms, metrics, rounds int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var t bytes.Buffer
	t.WriteString("arm,round,metric,unit,better,value\n")
	for round := 1; round <= rounds; round++ {
		for arm := range arms {
			for m := range metrics {
				fmt.Fprintf(&t, "arm-%d,%d,metric-%d,s,lower,%.6f\n", arm, round, m, 1+0.05*rng.NormFloat64()+0.01*float64(arm))
			}
		}
	}
	return t.Bytes()
}
