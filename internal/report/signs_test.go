package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
	kept := 0
	for _, file := range files {
		switch filepath.Ext(file) {
		case ".txt", ".md", ".xml", ".svg":
		default:
			continue
		}
		kept++
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if at := signed.FindString(line); at != "" && !settled.MatchString(line) {
				t.Errorf("%s:%d: %q has a sign and no word: %.200s", file, i+1, at, line)
			}
		}
	}
	for name, v := range views(t) {
		if strings.Contains(name, "hostile") || name == "run boundless" || name == "run extreme" { // signs in names and values
			continue
		}
		for line := range strings.SplitSeq(asMarkdown(t, v.document), "\n") {
			if at := signed.FindString(line); at != "" && !settled.MatchString(line) {
				t.Errorf("%s in Markdown: %q has a sign and no word: %.200s", name, at, line)
			}
		}
	}
	if kept < 40 {
		t.Errorf("%d views", kept)
	}
}

// A difference with a sign, before its interval, or in it.
var signedDifference = regexp.MustCompile(`[+−]\d[\d.,]* ?(%|[a-zµ]+)? ?\[|\[[+−]\d`)

// So do the pages. An exponent is no difference.
func TestNoSignOnPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, below := range []string{"../../docs/*/*.md", "../../README.md"} {
		more, err := filepath.Glob(below)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %v", below, err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if at := signedDifference.FindString(line); at != "" && filepath.Base(page) != "dns.md" {
				t.Errorf("%s:%d: %q has a sign and no word: %.200s", page, i+1, at, line)
			}
		}
	}
}
