package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/report"
	"tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/runs/compare"
	"tare/internal/runs/history"
)

// Addresses of the pages. The pages of a run lie beside its files in runs/NAME/, as in a run directory. Links from a
// page to the files therefore work in runs/NAME/ and in a run directory.
const (
	indexPage   = "index.html"
	historyPage = "history.html"
	runsDir     = "runs/"
	reportPage  = "report.html"
	comparedDir = "compared/"    // comparisons of a run with earlier runs; each file is named after the earlier run
	livePage    = "live.html"    // page of an unfinished run; only a server has it
	choosePage  = "compare.html" // page to choose the other run of a comparison; only a server has it
)

func (r *run) address() string { return runsDir + r.name }

func (r *run) page(name string) string { return r.address() + "/" + name }

func (r *run) compared(before *run) string { return r.page(comparedDir + before.name + ".html") }

var home = []report.Link{{Words: "All runs", To: indexPage}, {Words: "History", To: historyPage}}

// index returns the page that lists all runs. unread counts the runs that were never read. With server = true, the page
// links to pages that only a server has.
func index(all []*reading, skipped []history.Skipped, unread int, server bool) *document.Document {
	var list []report.Listed
	earlier := earlierOf(all)
	links := slices.Clone(home[1:])
	for _, r := range all {
		one := r.listed
		one.Pages = []report.Link{{Words: "report", To: r.page(reportPage)}}
		if r.unfinished != nil {
			one.State = "interrupted"
			if r.working() {
				one.State = "in progress"
			}
		}
		if r.unfinished != nil && server {
			if r.working() {
				links = append(links, report.Link{Words: r.name + " is in progress", To: r.page(livePage)})
			}
			one.Pages = []report.Link{{Words: "live", To: r.page(livePage)}, {Words: "report so far", To: r.page(reportPage)}}
		}
		if before := earlier.before(r); before != nil && r.unfinished == nil {
			one.Pages = append(one.Pages, report.Link{Words: "compared with the run before", To: r.compared(before.run)})
		}
		if server {
			one.Pages = append(one.Pages, report.Link{Words: "compare with …", To: r.page(choosePage)})
		}
		list = append(list, one)
	}
	return withUnread(report.Runs(indexPage, "Runs", list, skipped, links...), unread)
}

func withUnread(d *document.Document, unread int) *document.Document {
	if unread > 0 {
		d.Blocks = append([]document.Block{document.Say(fmt.Sprintf("%d more runs are being read: load this page again to see them.", unread))}, d.Blocks...)
	}
	return d
}

func (r *run) report() (*document.Document, error) {
	record, result, err := r.open()
	if err != nil {
		return nil, err
	}
	page := r.page(reportPage)
	d := report.Run(result, report.RunOptions{Experiment: record.Experiment, RunDir: r.address(), Page: page})
	return beside(d, page, append(slices.Clone(home), report.Link{Words: "Files", To: r.page("")})...), nil
}

type comparison struct{ before, after *run }

// timeline returns the page of the history, and the comparisons that the page links to.
func timeline(all []*reading, skipped []history.Skipped) (*document.Document, []comparison) {
	var list []*history.Run
	var comparisons []comparison
	by := map[*history.Run]*run{}
	o := report.HistoryOptions{Page: historyPage, Reports: map[string]bool{}}
	for _, r := range all {
		one := *r.past // a copy, since package history changes the runs that it gets
		list, by[&one], o.Reports[one.Directory] = append(list, &one), r.run, true
	}
	o.Compared = func(before, after *history.Run) string {
		p := comparison{by[before], by[after]}
		comparisons = append(comparisons, p)
		return p.after.compared(p.before)
	}
	d := report.History(history.New(list, skipped, history.Options{}), o)
	return beside(d, historyPage, home[:1]...), comparisons
}

func (p comparison) page() (*document.Document, error) {
	page := p.after.compared(p.before)
	links := slices.Clone(home)
	var in []compare.Input
	for i, r := range []*run{p.before, p.after} {
		record, result, err := r.open()
		if err != nil {
			return nil, err
		}
		in = append(in, compare.Input{Name: r.address(), Run: result, Trials: record.Trials})
		links = append(links, report.Link{Words: fmt.Sprintf("Run %d", i+1), To: r.page(reportPage)})
	}
	result, err := compare.Runs(in, compare.Options{})
	if err != nil { // the page explains why runs cannot be compared
		return message(page, "No comparison", p.before.address()+" and "+p.after.address()+": "+err.Error()+".", links...), nil
	}
	return beside(report.Compare(result, report.CompareOptions{}), page, links...), nil
}

// comparison finds the two runs whose comparison a page at an address shows. after is the later run. The rest of the
// address names the earlier run.
func (l *Library) comparison(after *run, rest string) (comparison, error) {
	name, isPage := strings.CutSuffix(strings.TrimPrefix(rest, comparedDir), ".html")
	before, more, err := l.find(name + "/")
	if err != nil || more != "" || !isPage {
		return comparison{}, cmp.Or(err, fs.ErrNotExist)
	}
	return comparison{before, after}, nil
}

func (r *run) choose(all []*reading) (*document.Document, error) {
	chosen := r.refresh()
	if chosen.err != nil {
		return nil, chosen.err
	}
	var list []report.Listed
	for _, o := range all {
		p := comparison{o.run, r}
		switch order := chosen.compareTime(o); {
		case order == 0: // a run is not compared with itself
			continue
		case order < 0:
			p = comparison{r, o.run}
		}
		one := o.listed
		one.Pages = []report.Link{{To: p.after.compared(p.before)}}
		list = append(list, one)
	}
	if list == nil {
		return nil, errors.New("there is no other run")
	}
	return report.Runs(r.page(choosePage), "Compare "+r.name+" with …", list, nil, home...), nil
}

func message(page, title, text string, links ...report.Link) *document.Document {
	d := &document.Document{Title: title, Styles: figure.PageCSS()}
	return d.Add(report.Beside(page, links...), document.Say(text))
}

func beside(d *document.Document, page string, links ...report.Link) *document.Document {
	d.Blocks = append([]document.Block{report.Beside(page, links...)}, d.Blocks...)
	return d
}

// folder returns the page that lists a directory of a run; "" is the run directory.
func (r *run) folder(dir string, files []report.File) *document.Document {
	links := append(slices.Clone(home[:1]), report.Link{Words: "Report", To: r.page(reportPage)})
	return report.Files(path.Join(r.address(), dir, indexPage), path.Join(r.address(), dir), files, links...)
}

// file responds with a file of a run as plain text, or with the list of a directory. Symbolic links
// cannot lead out of the served directory.
func (l *Library) file(w http.ResponseWriter, q *http.Request, r *run, name string) error {
	top, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer top.Close()
	below, err := filepath.Rel(l.dir, r.dir)
	if err != nil {
		return err
	}
	root, err := top.OpenRoot(below)
	if err != nil {
		return fs.ErrNotExist
	}
	defer root.Close()
	dir, isDir := strings.CutSuffix("./"+name, "/")
	dir = path.Clean(dir)
	if !fs.ValidPath(dir) {
		return fs.ErrNotExist
	}
	about, err := root.Stat(dir) // checked before opening, because opening a pipe would block
	switch {
	case err != nil || isDir != about.IsDir() || !isDir && !about.Mode().IsRegular():
		return fs.ErrNotExist
	case isDir:
		entries, err := fs.ReadDir(root.FS(), dir)
		if err != nil {
			return fs.ErrNotExist
		}
		return show(w, http.StatusOK, r.folder(dir, listed(entries)))
	}
	f, err := root.Open(dir)
	if err != nil {
		return fs.ErrNotExist
	}
	defer f.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	http.ServeContent(w, q, "", about.ModTime(), f)
	return nil
}

// listed returns the entries that are regular files or directories.
func listed(entries []fs.DirEntry) (files []report.File) {
	for _, e := range entries {
		switch about, err := e.Info(); {
		case err != nil:
		case e.IsDir():
			files = append(files, report.File{Name: e.Name() + "/", Size: -1})
		case e.Type().IsRegular():
			files = append(files, report.File{Name: e.Name(), Size: about.Size()})
		}
	}
	return files
}
