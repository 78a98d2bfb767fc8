package unixbench

import (
	"errors"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) { importertest.Fuzz(f, Format, least) }

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, Format, "index") }

// least is a small report.
const least = `   BYTE UNIX Benchmarks (Version 5.1.3)

   OS: GNU/Linux -- 5.10.0 -- #1 SMP
Benchmark Run: 一 11月 21 2022 23:06:44 - 23:13:32
1 CPU in system; running 1 parallel copy of tests

Shell Scripts (1 concurrent)                   1200.0 lpm   (60.0 s, 2 samples)
Something of One's Own                            3.5 turns (10.0 s, 3 samples)

System Benchmarks Partial Index              BASELINE       RESULT    INDEX
Shell Scripts (1 concurrent)                     42.4       1200.0    283.0
                                                                   ========
System Benchmarks Index Score (Partial Only)                          283.0
`

func TestReport(t *testing.T) {
	trials, err := importertest.Read(Format, "f", least)
	if err != nil || len(trials) != 2 {
		t.Fatalf("%d trials, error %v", len(trials), err)
	}
	shell, own := trials[0], trials[1]
	if shell.Cell != "shell1" || shell.Values[0].Value != 20 || shell.Values[0].Metric.Unit != "1/s" || shell.Wall.Seconds() != 120 || shell.Values[1].Value != 283 {
		t.Errorf("shell1 is %+v", shell)
	}
	if own.Cell != "something-of-one-s-own" || own.Values[0].Metric.Unit != "turns" || !own.Start.IsZero() {
		t.Errorf("the test that is not known is %+v", own)
	}
	if shell.Facts["kernel"] != "5.10.0" {
		t.Errorf("facts are %v", shell.Facts)
	}
}

func TestFailed(t *testing.T) {
	for old, broken := range map[string]string{"2 samples": "no sample of it succeeded", "1200.0 lpm": "its rate is nan"} {
		text := strings.Replace(least, old, map[string]string{"2 samples": "0 samples", "1200.0 lpm": "   nan lpm"}[old], 1)
		trials, err := importertest.Read(Format, "f", text)
		if err != nil || trials[0].Broken != broken || len(trials[0].Values) != 0 {
			t.Errorf("trials %+v, error %v, want %q", trials, err, broken)
		}
	}
}

// before returns the small report up to a text.
func before(text string) string {
	head, _, _ := strings.Cut(least, text)
	return head
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"something else", "hello\n", `no line with "BYTE UNIX Benchmarks`},
		{"head only", least[:60], "no section"},
		{"no copies", strings.Replace(least, "1 CPU in system; running", "runs", 1), "does not say how many copies ran"},
		{"strange copies", strings.Replace(least, "running 1", "running -1", 1), `a section ran "-1" copies`},
		{"no results", before("Shell"), "the section with copies: 1 has no results"},
		{"no score", before("   ====="), "has no score at its end: the file is truncated"},
		{"twice", strings.Replace(least, "Something of One's Own      ", "Shell Scripts (1 concurrent)", 1), `the test "Shell Scripts (1 concurrent)" comes twice`},
		{"not a number", strings.Replace(least, "60.0 s", "6.0.0 s", 1), `test "Shell Scripts (1 concurrent)": the time of a sample: "6.0.0" is not a number`},
	} {
		if _, err := importertest.Read(Format, "f", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %q", c.name, err, c.want)
		}
	}
	index := importertest.Fixture(t, "index")
	importertest.Truncated(t, Format, "index", strings.Index(index, "System Benchmarks Index"), "has no indexes: the file is truncated")
}

// TestBeside reads the files that Run writes beside a report.
func TestBeside(t *testing.T) {
	for name, text := range map[string]string{
		"h-2026-11-21-01.log":  "####\nDhrystone 2 using register variables -- 1 copy\n",
		"h-2026-11-21-01.html": "<!DOCTYPE HTML PUBLIC>\n<p><b>BYTE UNIX Benchmarks (Version 6.0.0)</b></p>",
	} {
		if _, err := importertest.Read(Format, name, text); !errors.Is(err, importer.ErrNoResult) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := importertest.Read(Format, "renamed.log", least); err != nil {
		t.Errorf("a report called renamed.log: %v", err)
	}
}

func TestLarge(t *testing.T) {
	head := before("Shell")
	importertest.Large(t, Format, head, "", "a 1 lps (1 s, 1 samples)\n", "Benchmark Run: \n", "1 CPU in system; running 1 parallel copy of tests\n", "a BASELINE INDEX\n", " ", "(")
	importertest.Large(t, Format, "", "", "BYTE UNIX Benchmarks (Version ", " samples)\n")
}
