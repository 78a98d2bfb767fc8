package report

import (
	"bytes"
	"testing"

	"tare/report/document"
	"tare/report/html"
	"tare/report/markdown"
	"tare/report/text"
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
