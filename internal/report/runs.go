package report

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/analysis"
	"tare/internal/lists"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/labels"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/runs/history"
)

// Listed is a run in a list of runs.
type Listed struct {
	Name       string // path of the run directory, below the listed directory
	Experiment string
	Start      time.Time // start of the first trial; zero: unknown
	State      string
	Rounds     int
	Pages      []Link // pages about the run; the run's name links to the first page
	results    []doc.Text
}

// Link is a link between pages of one site.
type Link struct {
	Words string
	To    string // address of the target from the site's top
}

// From returns the address of the link's target, relative to a page.
func (l Link) From(page string) string { return link(relativePath(page, "."), l.To) }

// Beside returns a paragraph of links to other pages.
func Beside(page string, links ...Link) doc.Block {
	var text doc.Text
	for i, l := range links {
		text = append(text, doc.Span{Words: when(i > 0, " · ")}, doc.Span{Words: plain(l.Words), Link: l.From(page)})
	}
	return doc.On(doc.Page, doc.If(text != nil, doc.Paragraph{Text: text}))
}

// List returns the entry of a run for a list of runs. The caller fills the field Pages.
func List(name string, r *analysis.Run) Listed {
	l := Listed{Name: name, Experiment: r.Plan.Name, Start: r.Start, Rounds: r.Rounds, State: when(!r.Finished, "not finished")}
	if r.Finished {
		l.State = cmp.Or(when(!r.Valid, "invalid"), "complete")
	}
	counts := map[analysis.Verdict]int{}
	for _, c := range pointers(r.Comparisons) {
		if !c.Metric.Headline {
			continue
		}
		counts[c.Verdict]++
		name := join(", ", plain(c.Arm), when(len(r.Plan.Cells) > 1, plain(c.Cell)), plain(c.Metric.Name))
		l.results = append(l.results, append(gradedVerdict(c, claimsObservational(*c)), doc.Span{Words: " " + name + when(c.Verdict != analysis.Invalid, ": "+wording.Estimate(*c))}))
	}
	if len(l.results) <= maxListed {
		return l
	}
	l.results = nil
	for v, n := range counts {
		l.results = append(l.results, doc.Text{{Words: fmt.Sprintf("%d %s", n, v), Style: verdictStyle(v)}})
	}
	slices.SortFunc(l.results, func(a, b doc.Text) int {
		return cmp.Or(cmp.Compare(a[0].Style, b[0].Style), cmp.Compare(a[0].Words, b[0].Words))
	})
	return l
}

// Runs shows a list of runs on a page by experiment, the latest first, and the runs that could not be read.
func Runs(page, title string, list []Listed, skipped []history.Skipped, links ...Link) *doc.Document {
	d := &doc.Document{Title: plain(title), About: "Tare", Styles: figure.PageCSS()}
	d.Add(Beside(page, links...), doc.SayIf(len(list) == 0, "There is no run yet."))
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.Experiment, b.Experiment), b.Start.Compare(a.Start), cmp.Compare(b.Name, a.Name))
	})
	for n := 1; len(list) > 0; n++ {
		name := list[0].Experiment
		var rows []doc.Row
		for len(list) > 0 && list[0].Experiment == name {
			rows, list = append(rows, list[0].row(page)), list[1:]
		}
		d.Add(doc.Section{ID: fmt.Sprintf("e%d", n), Title: cmp.Or(plain(name), "(no name)"),
			Note: wording.Count(len(rows), "run", "runs"), Blocks: []doc.Block{doc.Simple([]doc.Column{{Title: "run", Kind: doc.Name},
				{Title: "start (UTC)"}, {Title: "state"}, {Title: "rounds", Right: true}, {Title: "headline results", Kind: doc.Prose},
				{Title: "more", Kind: doc.Prose}}, rows)}})
	}
	return d.Add(skippedRuns(skipped))
}

func skippedRuns(skipped []history.Skipped) doc.Block {
	list := lists.Map(skipped, func(s history.Skipped) string { return plain(s.Directory) + ": " + brief(s.Reason) })
	return doc.If(list != nil, doc.Section{ID: "skipped", Title: "Skipped", Blocks: []doc.Block{doc.List{Items: doc.Each(list)}}})
}

func (l Listed) row(page string) doc.Row {
	name, more := doc.Words(plain(l.Name)), []doc.Text(nil)
	for i, p := range l.Pages {
		if i == 0 {
			name[0].Link = p.From(page)
			continue
		}
		more = append(more, doc.Text{{Words: plain(p.Words), Link: p.From(page)}})
	}
	began := when(!l.Start.IsZero(), l.Start.UTC().Format("2006-01-02 15:04"))
	return doc.Row{Cells: []doc.Cell{doc.Of(name), doc.C(began), doc.C(plain(l.State)), doc.C(number(l.Rounds)), doc.Of(l.results...), doc.Of(more...)}}
}

// Files lists the files of a directory of a run, with a note on each.
func Files(page, title string, files []File, links ...Link) *doc.Document {
	d := &doc.Document{Title: plain(title), About: "Tare", Styles: figure.PageCSS()}
	var rows []doc.Row
	for _, f := range files {
		name := doc.Span{Words: plain(f.Name)}
		if f.Note == "" {
			name.Link = link("", f.Name)
		}
		size := when(f.Size >= 0, number(int(max(f.Size, 0))))
		rows = append(rows, doc.Row{Cells: []doc.Cell{doc.Of(doc.Text{name}), doc.C(size), doc.Of(doc.In(doc.Mono, plain(f.SHA256))), doc.C(plain(f.Note))}})
	}
	return d.Add(Beside(page, links...), doc.Simple([]doc.Column{{Title: "file", Kind: doc.Name}, {Title: "bytes", Right: true},
		{Title: "SHA-256", Kind: doc.Prose}, {Title: "", Kind: doc.Prose}}, rows))
}

// File is a file of a run. If Name ends with a slash, it is a directory.
type File struct {
	Name   string
	Size   int64  // size in bytes; -1: a directory
	SHA256 string // "": unknown
	Note   string // reason why it cannot be opened; "": it can
}

// relativePath returns the path from the file of a page to a run directory; "" if the file lies in that directory.
func relativePath(page, dir string) string {
	if page == "" {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(page), cmp.Or(dir, "."))
	if err != nil {
		rel = dir // no relative path exists if only one path is absolute
	}
	return when(rel != ".", filepath.ToSlash(rel))
}

// link returns the address of a file of a run. Whatever the name contains, the address lies below the run directory.
func link(base, name string) string {
	to := path.Join(base, path.Clean("/" + name)[1:])
	if !path.IsAbs(to) {
		to = "./" + to
	}
	return (&url.URL{Path: to}).EscapedPath() + when(strings.HasSuffix(name, "/"), "/")
}

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

// LiveOptions holds the content of a live page besides the analysis.
type LiveOptions struct {
	Working bool          // a process is working on the run
	Left    time.Duration // estimated remaining time; 0: unknown
	Page    string        // address of the page itself
	Links   []Link        // links to other pages
	Live    *doc.Live
}

// Live shows the progress of a run: finished and remaining trials, estimates without verdicts, and the
// latest trials with the machine's condition.
func Live(r *analysis.Run, trials []journal.Trial, o LiveOptions) *doc.Document {
	r = labels.Shown(suspended(r), r.Plan)
	s := arrange(r)
	done := number(r.Trials.Done) + " of " + number(r.Trials.Planned)
	title, lede := s.title()
	d := &doc.Document{Title: title, About: done + " trials", Lede: lede, Styles: figure.PageCSS(), Live: o.Live}
	facts := known("Run", cmp.Or(when(o.Working, "in progress"), "interrupted"), "Trials", done,
		"Time left", when(o.Working && o.Left > 0, "about "+wording.Span(o.Left)), "Round", s.roundNow(trials),
		"Failed trials", when(s.failedTrials() > 0, number(s.failedTrials())), "Spoilt attempts", number(s.spoiltTrials()),
		"Control", s.controlState(), "Testbed", s.plan.Testbed, "Started", minuteOf(r.Start))
	table := s.resultTable(true)
	for i := range table.Groups {
		table.Groups[i].Notes = nil // no notes on closed loops on the live page: the report shows the notes
	}
	return d.Add(Beside(o.Page, o.Links...), doc.Facts{Look: doc.Glance, List: facts},
		doc.SayIf(!o.Working, "No process works on this run. All its trials are kept: tare resume continues it."),
		doc.Section{ID: "interim", Title: "Interim estimates", Blocks: []doc.Block{
			doc.Say("These are estimates of a run that is not finished. There is no verdict before its last round: stopping a run at a convenient result leads to false claims."),
			doc.If(table.Groups != nil, table), doc.SayIf(table.Groups == nil, "There is no estimate yet.")}},
		doc.Section{ID: "trials", Title: "Latest trials", Note: "with the machine's condition", Blocks: []doc.Block{trialTable(trials)}})
}

// suspended returns a copy of a run in which no comparison has a verdict, since rounds may still be added after the
// last planned round.
func suspended(r *analysis.Run) *analysis.Run {
	run := *r
	run.Comparisons = slices.Clone(r.Comparisons)
	for i := range run.Comparisons {
		if c := &run.Comparisons[i]; c.Verdict != analysis.Invalid && c.Verdict != analysis.Interim {
			c.Suspend(analysis.RoundsMissing{Rounds: r.Rounds, Of: r.Plan.Total()})
		}
	}
	return &run
}

func (s *sheet) roundNow(trials []journal.Trial) string {
	if len(trials) == 0 {
		return ""
	}
	pilot := s.plan.Precision > 0 && s.plan.Fixed == 0
	return fmt.Sprintf("%d of %d", trials[len(trials)-1].Round, max(s.plan.Total(), trials[len(trials)-1].Round)) + when(pilot, " of the pilot")
}

func trialTable(trials []journal.Trial) doc.Table {
	var rows []doc.Row
	for _, t := range slices.Backward(trials[max(len(trials)-maxLive, 0):]) {
		_, broken := reasonOf(t)
		ended := when(!t.Start.IsZero(), t.Start.Add(t.Wall).UTC().Format("15:04:05"))
		c := t.Conditions
		rows = append(rows, doc.Row{Muted: !t.Valid(), Cells: doc.Cells(number(t.Seq), ended, number(t.Round), plain(t.Cell), plain(t.Arm), wording.Span(t.Wall),
			cmp.Or(broken, "valid"), shareOf(c.ForeignCPU), shareOf(c.Steal), shareOf(c.CPUPressure),
			when(c.Throttled >= 0, number(max(c.Throttled, 0))), wording.Fixed(c.Load, 2))})
	}
	return doc.Simple([]doc.Column{{Title: "no.", Right: true}, {Title: "ended (UTC)"}, {Title: "round", Right: true}, {Title: "cell", Kind: doc.Name}, {Title: "arm", Kind: doc.Name},
		{Title: "took", Right: true}, {Title: "state", Kind: doc.Prose}, {Title: "foreign CPU", Right: true}, {Title: "steal", Right: true}, {Title: "CPU pressure", Right: true},
		{Title: "throttled", Right: true}, {Title: "load", Right: true}}, rows)
}

// shareOf writes a share of the machine's time; a dash if unknown.
func shareOf(v float64) string { return cmp.Or(when(v >= 0, wording.Share(v)), wording.Missing) }
