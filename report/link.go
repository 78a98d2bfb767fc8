package report

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	doc "tare/report/document"
)

// relativePath returns the path from a page to a run directory; "" if the page lies in it.
func relativePath(page, dir string) string {
	if page == "" {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(page), cmp.Or(dir, "."))
	if err != nil {
		rel = dir // one path is absolute and the other relative
	}
	return when(rel != ".", filepath.ToSlash(rel))
}

// link returns the address of a file of the run, as seen from the page. It is always a path below the run
// directory, for any name.
func link(base, name string) string {
	to := path.Join(base, path.Clean("/" + name)[1:])
	if !path.IsAbs(to) {
		to = "./" + to
	}
	return (&url.URL{Path: to}).EscapedPath() + when(strings.HasSuffix(name, "/"), "/")
}

// directoryLinks link to the files of the run.
func (s *sheet) directoryLinks(o RunOptions) doc.Block {
	names := []string{"experiment.yaml", "plan.json", "environment.json", "trials.jsonl", "raw/"}
	if s.imported() {
		names = []string{"plan.json", "trials.jsonl", "files.jsonl", "raw/"}
	}
	text := doc.Words("Everything behind these numbers lies in the run directory: ")
	for i, name := range names {
		if i > 0 {
			text = append(text, doc.Span{Words: ", "})
		}
		text = append(text, doc.Span{Words: name, Link: link(relativePath(o.Page, o.RunDir), name)})
	}
	return doc.On(doc.Page, doc.Paragraph{Text: append(text, doc.Span{Words: "."})})
}
