package importer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tare/internal/importer"
	"tare/internal/importer/vaultbench"
	"tare/internal/importer/vaultbench/vaultbenchtest"
	"tare/internal/test/slow"
)

// TestMemory imports 100 and 10,000 files of 2 kB and compares the memory in use at the end of each import.
// Only the list of the files may grow with their number.
func TestMemory(t *testing.T) {
	slow.Test(t)
	const few, many, perFile = 100, 10_000, 600
	padding := "# " + strings.Repeat("x", 2000) + "\n"
	format := lines
	read := format.Read
	format.Read = func(f importer.File) ([]importer.Trial, error) {
		text, err := importer.ReadAll(f)
		if err != nil {
			return nil, err
		}
		return read(importer.File{Name: f.Name, Reader: strings.NewReader(strings.Replace(string(text), padding, "", 1))})
	}
	alive := func(files int) uint64 {
		dir := t.TempDir()
		for i := range files {
			text := padding + fmt.Sprintf("x s-mean %d\n", i+1)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".txt")), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var heap uint64
		_, err := importer.Run(context.Background(), filepath.Join(t.TempDir(), "run"), importer.Options{
			Format: format, Sources: []importer.Source{{Arm: "a", From: []string{dir}}},
			Progress: func(done, files int) {
				if done == files {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					heap = m.HeapAlloc
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return heap
	}
	alive(few) // a first import allocates everything that is allocated only once
	small, large := alive(few), alive(many)
	growth := (float64(large) - float64(small)) / (many - few)
	t.Logf("%d kB alive after %d files, %d kB after %d: %.0f bytes for each", small>>10, few, large>>10, many, growth)
	if growth > perFile {
		t.Errorf("%.0f bytes stay in memory for each file, of 2 kB; %d are allowed for its path and place", growth, perFile)
	}
}

// BenchmarkRun imports the 600 published runs of vault-benchmark:
//
//	go test ./internal/importer -run '^$' -bench Run
func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	study := vaultbenchtest.Study(b)
	vaultbenchtest.Write(b, dir, study)
	o := importer.Options{Format: vaultbench.Format}
	for _, replicas := range []string{"2", "5"} {
		for _, platform := range []string{"aks", "c11n", "gke"} {
			o.Sources = append(o.Sources, importer.Source{Arm: platform + replicas, From: []string{filepath.Join(dir, replicas+"replicas", platform)}})
		}
	}
	to := b.TempDir()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := importer.Run(context.Background(), filepath.Join(to, fmt.Sprint(i)), o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(study)*b.N)/b.Elapsed().Seconds(), "files/s")
}
