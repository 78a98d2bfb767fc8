// Package importertest checks formats. It compares the trials of the fixtures in testdata with golden files, and checks
// that no file makes a format break the rules that package importer relies on.
//
// Every file in testdata is a fixture, except README.md, the golden files and the corpora of fuzz tests. README.md
// describes how each fixture was made. The golden file of NAME is NAME.golden, with the trials or the error.
package importertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/test/golden"
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

// Refused checks that reading each file fails. A file is its name, its text, and a part of the expected error.
func Refused(t *testing.T, f importer.Format, files [][3]string) {
	t.Helper()
	for _, file := range files {
		if _, err := Read(f, file[0], file[1]); err == nil || !strings.Contains(err.Error(), file[2]) {
			t.Errorf("%s: the error is %v, want %q", file[0], err, file[2])
		}
	}
}

// Truncated checks that a fixture cut off at an offset is an error that contains a text.
func Truncated(t *testing.T, f importer.Format, fixture string, at int, want string) {
	t.Helper()
	text := Fixture(t, fixture)
	trials, err := Read(f, fixture, text[:at])
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s cut off after %d bytes gives %d trials and the error %v, want %q", fixture, at, len(trials), err, want)
	}
}

// Appended checks that a file of two results is an error. Such a file arises if a tool's output is appended.
func Appended(t *testing.T, f importer.Format, fixture string) {
	t.Helper()
	text := strings.TrimRight(Fixture(t, fixture), "\n") + "\n"
	want := fmt.Sprintf("a second document follows at byte %d: one file is one trial; split it", len(text)+1)
	if trials, err := Read(f, fixture, text+text); err == nil || err.Error() != want {
		t.Errorf("%s twice gives %d trials and the error %v, want %s", fixture, len(trials), err, want)
	}
}

// Fuzz reads mutations of the fixtures and of further texts, and checks that the format keeps the rules.
func Fuzz(f *testing.F, format importer.Format, more ...string) {
	for _, text := range fixtures(f) {
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	for _, text := range more {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if trials, err := Read(format, "dir/name_of_a.file", text); err == nil {
			Check(t, trials)
		}
	})
}

// Large reads units of text repeated to a megabyte. The test is that reading ends: a format whose time grows
// with the square of the length would not end.
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
