package gobench

import (
	"strings"
	"testing"

	"tare/internal/importer/importertest"
)

func TestGolden(t *testing.T) { importertest.Golden(t, Format) }

func FuzzRead(f *testing.F) {
	importertest.Fuzz(f, Format,
		"BenchmarkA 1 NaN ns/op 1 B/op 2 B/op\n", "Benchmark 1 1 x\nUnit x better=lower\n", "BenchmarkA/=/==b- 1 1 ns/op\n",
		"Unit time better=lower\nBenchmarkA 1 1 time 1 ns/op\n", "Unit p-sec better=lower\nUnit p-bytes better=lower\nBenchmarkA 1 1 p-ns 1 p-bytes\n",
		"pkg: \x1b[2J\nBenchmarkA 1 1e999 ns/op\n", "BenchmarkA 9223372036854775807 9e300 ns/op\n")
}

func BenchmarkRead(b *testing.B) { importertest.Benchmark(b, Format, "verbose.txt") }

// TestUnits reads a benchmark with its own units.
func TestUnits(t *testing.T) {
	const line = "BenchmarkA-2 10 100 ns/op 0 B/op 7 p99-ns 3 frames/s 0 drops\n"
	for _, c := range []struct{ name, text, values, aimless string }{
		{"none described", line, "time allocated", "p99-sec, frames/s, drops"},
		{"before", "Unit p99-ns better=lower\nUnit frames/s better=higher\n" + line, "time allocated p99-sec frames/s", "drops"},
		{"behind", line + "Unit p99-ns better=lower\n", "time allocated p99-sec", "frames/s, drops"},
		{"nonsense", "Unit frames/s better=more\n" + line, "time allocated", "p99-sec, frames/s, drops"},
	} {
		trials, err := importertest.Read(Format, "f", c.text)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range trials[0].Values {
			names = append(names, v.Metric.Name)
		}
		if got, aimless := strings.Join(names, " "), trials[0].Facts["units without a direction"]; got != c.values || aimless != c.aimless {
			t.Errorf("%s: metrics %q, without a direction %q", c.name, got, aimless)
		}
	}
}

func TestRefused(t *testing.T) {
	importertest.Refused(t, Format, [][3]string{
		{"empty", "", "the file is empty"},
		{"no result", "PASS\nok x 1s\n", "no line that begins with Benchmark and holds a result"},
		{"JSON", `{"Action":"output","Output":"BenchmarkA 1 1 ns/op"}`, "use the output without -json"},
		{"nothing understood", "BenchmarkA many\n", "no result; line 1: parsing iteration count: invalid syntax"},
		{"truncated", "BenchmarkA 10 1 ns/op\nBenchmarkA 10 1.5", "line 2, the last, is not complete: the file is truncated"},
		{"huge line", "BenchmarkA 10 1 ns/op\n" + strings.Repeat("x", 1<<20), "a line is longer than 65536 bytes"},
	})
}

func TestNoValue(t *testing.T) {
	trials, err := importertest.Read(Format, "f", "BenchmarkA 10 NaN ns/op\n")
	if err != nil || len(trials) != 1 || !strings.HasPrefix(trials[0].Broken, "no value is a finite number") {
		t.Errorf("trials %+v, error %v", trials, err)
	}
}

func TestLarge(t *testing.T) {
	importertest.Large(t, Format, "", "", "BenchmarkA 1 1 ns/op\n", "BenchmarkA", "Unit a better=lower\n", "a: b\n", "Benchmark/a=b 1 1 a\n", "BenchmarkA 1"+strings.Repeat(" 1 a", 5000)+"\n")
}
