package report

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// signed is a number with a sign of its own, which beside a metric reads two ways: a rate by "−20 %"
// may have fallen, or cost less.
var signed = regexp.MustCompile(`(?:^|[\s(\[>|"])\\?(?:\+|−|-|&#43;)\d[\d.,]*`)

// settled says of a line that its signs read one way: properties for programs whose names say that they are a cost, and
// the flags and coordinates of pictures.
var settled = regexp.MustCompile(`<property name="[^"]*\.cost(\.lo|\.hi)?"|<(path|polyline|g|svg|rect|line|circle|style)[ >]|^\s*--|letter-spacing`)

// No view writes a number with a sign where a word has to say what is more or less.
func TestNoSignWithoutAWord(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	views := 0
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".txt", ".md", ".xml", ".svg":
		default:
			continue
		}
		views++
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range regexp.MustCompile(`\n`).Split(string(text), -1) {
			if at := signed.FindString(line); at != "" && !settled.MatchString(line) {
				t.Errorf("%s:%d: %q has a sign and no word: %.200s", file, i+1, at, line)
			}
		}
	}
	if views < 50 {
		t.Errorf("%d views", views)
	}
}
