package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/compare"
	"tare/history"
	"tare/report"
	"tare/report/document"
	"tare/report/figure"
)

// The pages, by their addresses. Those of a run lie in runs/NAME/ beside its files, so that
// a page leads to them as a report in a run directory does.
const (
	indexPage   = "index.html"
	historyPage = "history.html"
	runsDir     = "runs/"
	reportPage  = "report.html"
	comparedDir = "compared/"    // with the run whose name follows
	livePage    = "live.html"    // of a run that is not finished; only where there is a server
	choosePage  = "compare.html" // the runs that this one can be compared with; the same
)

// address is the directory of a run among the pages.
func (r *run) address() string { return runsDir + r.name }

// page is the address of a page of the run.
func (r *run) page(name string) string { return r.address() + "/" + name }

// compared is the page that compares the run with an earlier one.
func (r *run) compared(before *run) string { return r.page(comparedDir + before.name + ".html") }

// home leads to the pages about all runs.
var home = []report.Link{{Words: "All runs", To: indexPage}, {Words: "History", To: historyPage}}

// index lists runs, with what only a server shows if it is one. So many more are not read yet.
func index(all []*reading, skipped []history.Skipped, unread int, server bool) *document.Document {
	var list []report.Listed
	earlier := earlierOf(all)
	links := slices.Clone(home[1:])
	for _, r := range all {
		one := r.listed
		one.Pages = []report.Link{{Words: "report", To: r.page(reportPage)}}
		if r.going != nil {
			one.State = r.word()
		}
		if r.going != nil && server {
			if r.working() {
				links = append(links, report.Link{Words: r.name + " goes on", To: r.page(livePage)})
			}
			one.Pages = []report.Link{{Words: "live", To: r.page(livePage)}, {Words: "report so far", To: r.page(reportPage)}}
		}
		if before := earlier.before(r); before != nil && r.going == nil {
			one.Pages = append(one.Pages, report.Link{Words: "compared with the run before", To: r.compared(before.run)})
		}
		if server {
			one.Pages = append(one.Pages, report.Link{Words: "compare with …", To: r.page(choosePage)})
		}
		list = append(list, one)
	}
	return withUnread(report.Runs(indexPage, "Runs", list, skipped, links...), unread)
}

// withUnread says at the head of a page that some runs are missing.
func withUnread(d *document.Document, unread int) *document.Document {
	if unread > 0 {
		d.Blocks = append([]document.Block{document.Say(fmt.Sprintf("%d more runs are being read: load this page again to see them.", unread))}, d.Blocks...)
	}
	return d
}

// report is that of the run.
func (r *run) report() (*document.Document, error) {
	record, result, err := r.open()
	if err != nil {
		return nil, err
	}
	page := r.page(reportPage)
	d := report.Run(result, report.RunOptions{Experiment: record.Experiment, RunDir: r.address(), Page: page})
	return beside(d, page, append(slices.Clone(home), report.Link{Words: "Files", To: r.page("")})...), nil
}

// pair is two runs of which the later one is compared with the earlier.
type pair struct{ before, after *run }

// timeline is the history of runs, and the pairs of runs around its changes.
func timeline(all []*reading, skipped []history.Skipped) (*document.Document, []pair) {
	var past []*history.Run
	var around []pair
	by := map[*history.Run]*run{}
	o := report.HistoryOptions{Page: historyPage, Reports: map[string]bool{}}
	for _, r := range all {
		one := *r.past // a history takes it over
		past, by[&one], o.Reports[one.Directory] = append(past, &one), r.run, true
	}
	o.Compared = func(before, after *history.Run) string {
		p := pair{by[before], by[after]}
		around = append(around, p)
		return p.after.compared(p.before)
	}
	d := report.History(history.New(past, skipped, history.Options{}), o)
	return beside(d, historyPage, home[:1]...), around
}

// page is the comparison of the two.
func (p pair) page() (*document.Document, error) {
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
	if err != nil { // that is an answer, too
		return message(page, "No comparison", p.before.address()+" and "+p.after.address()+": "+err.Error()+".", links...), nil
	}
	return beside(report.Compare(result, report.CompareOptions{}), page, links...), nil
}

// pair finds the runs of a page of comparison by its address below the later one.
func (l *Library) pair(after *run, rest string) (pair, error) {
	name, isPage := strings.CutSuffix(strings.TrimPrefix(rest, comparedDir), ".html")
	before, more, err := l.find(name + "/")
	if err != nil || more != "" || !isPage {
		return pair{}, cmp.Or(err, fs.ErrNotExist)
	}
	return pair{before, after}, nil
}

// choose lists the runs that a run can be compared with.
func (r *run) choose(all []*reading) (*document.Document, error) {
	chosen := r.refresh()
	if chosen.err != nil {
		return nil, chosen.err
	}
	var list []report.Listed
	for _, o := range all {
		p := pair{o.run, r}
		switch order := chosen.order(o); {
		case order == 0: // itself
			continue
		case order < 0:
			p = pair{r, o.run}
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

// message is a page that says something in a sentence.
func message(page, title, text string, links ...report.Link) *document.Document {
	d := &document.Document{Title: title, Styles: figure.PageCSS()}
	return d.Add(report.Beside(page, links...), document.Say(text))
}

// beside puts links to other pages at the head of a page.
func beside(d *document.Document, page string, links ...report.Link) *document.Document {
	d.Blocks = append([]document.Block{report.Beside(page, links...)}, d.Blocks...)
	return d
}
