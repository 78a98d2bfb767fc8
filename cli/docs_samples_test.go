package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedOutput checks that what the documentation shows of the output of commands is
// what tests have made: the lines stand so in a golden file, or in a script that compares them. The figures
// of docs/figures are made by the commands that they name.
func TestDocumentedOutput(t *testing.T) {
	var made []string
	for _, pattern := range []string{"testdata/script/*.txtar", "testdata/realtime/*.txtar", "../report/testdata/*.txt", "../export/testdata/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			made = append(made, "\n"+read(t, file))
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`^(sudo |make |tare |kubectl |for |cd |bin/cluster |# )`)
	samples := 0
	for _, page := range append(pages, "../README.md") {
		language, text, inside := "", "", false
		for line := range strings.Lines(read(t, page)) {
			fence, is := strings.CutPrefix(line, "```")
			switch {
			case is && !inside:
				language, text, inside = strings.TrimSpace(fence), "", true
			case is:
				inside = false
				if language != "" || command.MatchString(text) {
					continue
				}
				samples++
				if !slices.ContainsFunc(made, func(m string) bool { return strings.Contains(m, "\n"+text) }) {
					t.Errorf("%s shows what no test has made:\n%s", page, text)
				}
			case inside:
				text += line
			}
		}
	}
	if samples < 7 {
		t.Errorf("%d samples of output; there were seven", samples)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
