// Package importertest has tests that every format passes. They compare the trials of fixtures with golden files, and
// check that no file makes a format break the rules of package importer.
//
// In testdata, README.md describes how each fixture was made. The golden file of NAME is NAME.golden, with the trials
// or the error.
package importertest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/importer"
	"tare/internal/test/golden"
	"tare/internal/text/safetext"
)

// Read reads a text as a file of the format.
func Read(f importer.Format, name, text string) ([]importer.Trial, error) {
	return f.Read(importer.File{Name: name, Reader: strings.NewReader(text)})
}

// Golden compares the format's trials of every fixture with the golden file.
func Golden(t *testing.T, f importer.Format) {
	for name, text := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			trials, err := Read(f, name, text)
			var got bytes.Buffer
			if err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
			} else {
				Print(&got, trials)
				Check(t, trials)
				consistent(t, trials)
			}
			golden.Check(t, filepath.Join("testdata", name+".golden"), got.Bytes())
		})
	}
}

// Refused checks that reading each file fails. Each entry of files consists of a file's name, its text, and a part of
// the expected error.
func Refused(t *testing.T, f importer.Format, files [][3]string) {
	t.Helper()
	for _, file := range files {
		if _, err := Read(f, file[0], file[1]); err == nil || !strings.Contains(err.Error(), file[2]) {
			t.Errorf("%s: the error is %v, want %q", file[0], err, file[2])
		}
	}
}

// Truncated checks that a fixture cannot be read if only its first bytes are left. length is their number; the error
// must contain want.
func Truncated(t *testing.T, f importer.Format, fixture string, length int, want string) {
	t.Helper()
	Refused(t, f, [][3]string{{fixture, Fixture(t, fixture)[:length], want}})
}

// Appended checks that reading two results in one file fails. Such a file arises if the output of a tool is appended to
// a file.
func Appended(t *testing.T, f importer.Format, fixture string) {
	t.Helper()
	text := strings.TrimRight(Fixture(t, fixture), "\n") + "\n"
	want := fmt.Sprintf("a second document follows at byte %d: one file is one trial; split it", len(text)+1)
	if trials, err := Read(f, fixture, text+text); err == nil || err.Error() != want {
		t.Errorf("%s twice gives %d trials and the error %v, want %s", fixture, len(trials), err, want)
	}
}

// Fuzz reads mutations of the fixtures and of extra texts, and checks that the trials keep the rules of
// importer.Trial.
func Fuzz(f *testing.F, format importer.Format, extra ...string) {
	for _, text := range fixtures(f) {
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	for _, text := range extra {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if trials, err := Read(format, "dir/name_of_a.file", text); err == nil {
			Check(t, trials)
		}
	})
}

// Large makes a format read a megabyte of each repeated unit between head and end. If reading takes a time that grows
// with the square of the size, the test exceeds its time limit.
func Large(t *testing.T, f importer.Format, head, end string, units ...string) {
	for _, unit := range units {
		text := head + strings.Repeat(unit, (1<<20)/len(unit)) + end
		trials, err := Read(f, "large", text)
		t.Logf("%q repeated: %d trials, error %.100v", unit, len(trials), err)
	}
}

// Benchmark reads a fixture repeatedly.
func Benchmark(b *testing.B, f importer.Format, fixture string) {
	text := Fixture(b, fixture)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(f, fixture, text); err != nil {
			b.Fatal(err)
		}
	}
}

// Fixture returns the content of a file in testdata.
func Fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func fixtures(t testing.TB) map[string]string {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && name != "README.md" && !strings.HasSuffix(name, ".golden") {
			texts[name] = Fixture(t, name)
		}
	}
	if len(texts) == 0 {
		t.Fatal("no fixtures in testdata")
	}
	return texts
}

// Print writes trials as text, one fact a line, with hostile strings quoted.
func Print(w io.Writer, trials []importer.Trial) {
	line := func(known bool, format string, args ...any) {
		if known {
			fmt.Fprintf(w, "  "+format+"\n", args...)
		}
	}
	for _, t := range trials {
		fmt.Fprintf(w, "trial %q kind %q", t.Cell, t.Kind)
		for _, l := range t.Levels {
			fmt.Fprintf(w, " [%s=%s]", safetext.Name(l.Factor), safetext.Name(l.Value))
		}
		fmt.Fprintln(w)
		line(t.Arm != "", "arm %q", t.Arm)
		line(t.Round != 0, "round %d", t.Round)
		line(!t.Start.IsZero(), "start %s", t.Start.UTC().Format(time.RFC3339Nano))
		line(t.Wall != 0, "wall %v", t.Wall)
		line(t.Broken != "", "broken: %s", safetext.Name(t.Broken))
		line(t.Errors.Known, "errors %.6g", t.Errors.Share)
		if t.Loop != nil {
			line(true, "loop %s × %s = %g workers", t.Loop.Latency, t.Loop.Throughput, t.Loop.Workers)
		}
		for _, v := range t.Values {
			m := v.Metric
			words := []string{safetext.Name(m.Name), "=", fmt.Sprintf("%.10g", v.Value), safetext.Name(m.Unit), string(m.Better)}
			if m.Scale != experiment.Ratio {
				words = append(words, string(m.Scale))
			}
			if m.Headline {
				words = append(words, "headline")
			}
			if m.Optional {
				words = append(words, "optional")
			}
			words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
			line(true, "%s", strings.Join(words, " "))
		}
		for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
			line(t.Facts[name] != "", "fact %s: %s", safetext.Name(name), safetext.Name(t.Facts[name]))
		}
		for _, s := range t.Series {
			fmt.Fprintf(w, "  series %s %s: %g at %g\n", safetext.Name(s.Name), safetext.Name(s.Unit), s.Values, s.Seconds)
		}
		for _, h := range t.Histograms {
			fmt.Fprintf(w, "  histogram %s %s:", safetext.Name(h.Name), safetext.Name(h.Unit))
			for i := range h.Count {
				fmt.Fprintf(w, " %d in [%g, %g]", h.Count[i], h.Lower[i], h.Upper[i])
			}
			fmt.Fprintln(w)
		}
	}
}

// Check fails if trials of one file break the rules of importer.Trial.
func Check(t *testing.T, trials []importer.Trial) {
	type place struct {
		arm, cell string
		round     int
	}
	seen := map[place]bool{}
	for _, trial := range trials {
		at := place{trial.Arm, trial.Cell, trial.Round}
		switch {
		case trial.Cell == "" || trial.Kind == "":
			t.Errorf("a trial has no cell or no kind: %+v", trial)
		case trial.Round < 0 || trial.Wall < 0:
			t.Errorf("%v: the round %d or the wall time %v is negative", at, trial.Round, trial.Wall)
		case at.round > 0 && seen[at]:
			t.Errorf("%v comes twice", at)
		case !(trial.Errors.Share >= 0 && trial.Errors.Share <= 1):
			t.Errorf("%v: %g is no share", at, trial.Errors.Share)
		case trial.Broken == "" && len(trial.Values) == 0:
			t.Errorf("%v has no value and does not say why", at)
		}
		seen[at] = true
		names := map[string]bool{} // the names of the trial's metrics
		for _, v := range trial.Values {
			checkValue(t, at.cell, v)
			if names[v.Metric.Name] {
				t.Errorf("%v: the metric %q comes twice", at, v.Metric.Name)
			}
			names[v.Metric.Name] = true
		}
		checkWithin(t, trial)
	}
}

// consistent checks that each metric of a cell has only one description, since an import would reject the file
// otherwise.
func consistent(t *testing.T, trials []importer.Trial) {
	type column struct{ cell, metric string }
	described := map[column]experiment.Metric{}
	for _, trial := range trials {
		for _, v := range trial.Values {
			at := column{trial.Cell, v.Metric.Name}
			if known, ok := described[at]; ok && known != v.Metric {
				t.Errorf("%v: %+v was described as %+v", at, v.Metric, known)
			}
			described[at] = v.Metric
		}
	}
}

func checkValue(t *testing.T, cell string, v importer.Value) {
	m := v.Metric
	switch {
	case m.Name == "":
		t.Errorf("%s: a metric has no name: %+v", cell, v)
	case m.Better != experiment.Lower && m.Better != experiment.Higher:
		t.Errorf("%s: %s has no direction", cell, m.Name)
	case m.Scale != experiment.Ratio && m.Scale != experiment.Difference:
		t.Errorf("%s: %s has no scale", cell, m.Name)
	case m.Headline && m.Scale != experiment.Ratio:
		t.Errorf("%s: %s is headline on a scale of differences", cell, m.Name)
	case m.Headline && m.Optional:
		t.Errorf("%s: %s is headline and optional", cell, m.Name)
	case m.Optional && m.Scale == experiment.Ratio && v.Value <= 0:
		t.Errorf("%s: %s may be missing and is %g, which spoils the trial", cell, m.Name, v.Value)
	case math.IsNaN(v.Value) || math.IsInf(v.Value, 0):
		t.Errorf("%s: %s is %g", cell, m.Name, v.Value)
	}
}

func checkWithin(t *testing.T, trial importer.Trial) {
	for _, l := range trial.Levels {
		if l.Factor == "" {
			t.Errorf("%s: a level %q of no factor", trial.Cell, l.Value)
		}
	}
	if err := trial.CheckWithin(); err != nil {
		t.Errorf("%s: %v", trial.Cell, err)
		return
	}
	for _, s := range trial.Series {
		if len(s.Values) == 0 {
			t.Errorf("%s: the series %s is empty", trial.Cell, s.Name)
		}
	}
	for _, h := range trial.Histograms {
		if len(h.Count) == 0 {
			t.Errorf("%s: the histogram %s is empty", trial.Cell, h.Name)
		}
		for i := range h.Count {
			if !(h.Lower[i] <= h.Upper[i]) || h.Count[i] < 0 {
				t.Errorf("%s: the histogram %s counts %d in [%g, %g]", trial.Cell, h.Name, h.Count[i], h.Lower[i], h.Upper[i])
			}
		}
	}
	if l := trial.Loop; l != nil && (l.Latency == "" || l.Throughput == "" || l.Workers < 0) {
		t.Errorf("%s: the loop is %+v", trial.Cell, *l)
	}
}
