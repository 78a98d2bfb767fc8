package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"tare/internal/report/columns"
	"tare/internal/report/document"
	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/text"
)

// asText is a document as a terminal shows it.
func asText(t testing.TB, d *document.Document, o text.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := text.Write(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asMarkdown is a document as Markdown.
func asMarkdown(t testing.TB, d *document.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := markdown.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asPage is a document as a page.
func asPage(t testing.TB, d *document.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// asCSV is what a writer of lines for programs writes.
func asCSV[R any](t testing.TB, write func(io.Writer, R) error, r R) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fits gives a text, and complains about lines that are wider than the terminal.
func fits(t testing.TB, text string, width int) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if columns.Width(strings.TrimRight(line, "\n")) > width {
			t.Errorf("a line of %d columns at %d: %q", columns.Width(line), width, line)
		}
	}
	return text
}

// says complains about what a text lacks.
func says(t testing.TB, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%.10000s", what, want, text)
		}
	}
}
