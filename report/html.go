package report

import (
	"bufio"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tare/analysis"
	"tare/published"
	"tare/safetext"
	"tare/wording"
)

//go:embed page/*.gohtml
var pageFiles embed.FS

//go:embed page/page.css
var pageCSS string

var pageTemplate = template.Must(template.New("").Funcs(template.FuncMap{"flags": flags}).ParseFS(pageFiles, "page/*.gohtml"))

// flagText finds command-line flags in sentences.
var flagText = regexp.MustCompile(`--[a-z]+(?:-[a-z]+)*`)

// flags is text in which a line does not break within a command-line flag.
func flags(s string) template.HTML {
	return template.HTML(flagText.ReplaceAllString(escape(s), `<code class="flag">$0</code>`))
}

// HTMLOptions is what a page shows besides the analysis.
type HTMLOptions struct {
	Experiment []byte           // the experiment file as given; may be empty
	RunDir     string           // the run directory
	Page       string           // the file that the page is written to, for links to the run directory; "": a file in it
	Command    string           // how to repeat the run; "": tare run with the run's own experiment file
	Generated  time.Time        // shown at the foot unless zero
	Published  *published.Table // a section of the page; nil: none
}

// Limits of the page's lists; the run directory has everything.
const (
	mostInvalids = 300
	mostWarnings = 40
	mostRows     = 48 // rows of one forest plot, beyond which it is split by cell
	mostOpen     = 12 // charts that are open from the start
)

// HTML writes the run as one page that needs neither network nor scripts.
func HTML(w io.Writer, r *analysis.Run, o HTMLOptions) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.ExecuteTemplate(buffered, "page.gohtml", makePage(arrange(r), o)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// page is everything that the templates show, as text; html/template escapes
// it. Pictures are markup, whose text the drawing has escaped.
type page struct {
	CSS                      template.CSS
	Title, Name, Description string
	Facts                    []entry
	Footer                   string
	// Summary.
	Reasons      []string
	Asked, Done  string
	Answers      []pageAnswer
	Control      string
	Limits       []string
	Observed     string // why the run is no experiment; "": it is one
	Warnings     []string
	MoreWarnings string
	Hints        []string // warnings of exploratory metrics
	// Overheads and results.
	Baseline, Confidence, Margin string
	Forests                      []pageForest
	Headline, Exploratory        []pageBlock
	Alone                        bool // there is no second arm to compare with
	Paired, Imported, HasControl bool
	SizeHead                     string
	ExploratoryCount             string
	Cells                        []pageCell
	Thinned                      string
	Published                    *pagePublished
	Scaling                      []growth
	ScalingNote                  string
	// Method and evidence.
	FamilyNote, Power, ProofNote string
	Diagnostics                  []pageBlock
	Series                       []pageSeries
	MoreSeries                   string
	Proofs                       []pageProof
	InvalidNote, MoreInvalids    string
	InvalidsOpen                 bool
	Rules                        []entry
	Invalids                     []pageTrial
	// Machine, repetition, definitions.
	MachineNotes                             []string
	Machine                                  []entry
	Clusters                                 []pageCluster
	Tools                                    []pageTool
	MachineDetails                           []pageDetail
	Harness, RepeatNote, Command, Experiment string
	Arms                                     []pageArm
	// Of an imported run.
	Sources       []entry
	FactArms      []string
	FactRows      []pageFact
	ImportCommand string
	Links         []entry
	Definitions   []entry
}

type pageVerdict struct {
	Class, Word string
	Observed    bool // a claim of what is no experiment
}

type pageAnswer struct {
	Verdict pageVerdict
	Text    string
}

type pageForest struct {
	Title        string
	Open         bool
	Wide, Narrow template.HTML
}

type pageCell struct {
	ID     string
	Charts []pageChart
}

type pageChart struct {
	Metric, Note    string
	Open            bool
	Boxes, RunChart template.HTML
}

// makePage fills the page.
func makePage(s *sheet, o HTMLOptions) *page {
	name := cmp.Or(plain(s.plan.Name), "Run")
	p := &page{
		CSS: template.CSS(paletteCSS() + pictureCSS + pageCSS), Title: name + " – Tare report", Name: name,
		Description: plain(s.plan.Description), Facts: s.facts(), Baseline: s.baseline,
		Confidence: wording.Share(float64(s.plan.Confidence)), Power: wording.Share(float64(s.plan.Power)),
		Asked: s.asked(), Done: s.done(), Control: tie(s.controlSentence()), Limits: s.limits(),
		Definitions: s.definitions(), Published: publishedSection(o.Published),
		Observed: tie(s.observed()), Paired: s.plan.Paired(), Imported: s.imported(),
		HasControl: len(s.run.Controls) > 0, SizeHead: s.sizeHead(), Sources: s.sources(), FactRows: s.armFacts(),
	}
	if s.imported() {
		p.ImportCommand = safetext.Lines(s.plan.Import.Command)
		for _, a := range s.plan.Import.Arms {
			p.FactArms = append(p.FactArms, plain(a.Name))
		}
	}
	if s.margin() > 0 {
		p.Margin = "±" + wording.Share(s.margin())
	}
	if !s.run.Valid {
		p.Reasons = plainAll(s.run.Reasons)
		if len(p.Reasons) == 0 {
			p.Reasons = []string{"No reason was recorded."}
		}
	}
	p.Alone = s.alone()
	for _, a := range s.answers() {
		p.Answers = append(p.Answers, pageAnswer{badge(a.Verdict, s.observes(a.Verdict)), tie(a.Text)})
	}
	p.Warnings, p.Hints = s.warnings(true), s.warnings(false)
	p.Hints = p.Hints[:min(len(p.Hints), mostWarnings)]
	if extra := len(p.Warnings) - mostWarnings; extra > 0 {
		p.Warnings = p.Warnings[:mostWarnings]
		p.MoreWarnings = fmt.Sprintf("%s more; tare show lists all.", wording.Count(extra, "warning", "warnings"))
	}
	p.pictures(s)
	p.tables(s)
	p.scaling(s)
	p.series(s)
	p.evidence(s, o)
	p.surroundings(s, o)
	return p
}

// badge is a verdict as a word with a sign, and a mark if it is observed only.
func badge(v analysis.Verdict, observed bool) pageVerdict {
	switch v {
	case "":
		return pageVerdict{"mixed", "mixed", observed}
	case analysis.Costs, analysis.Gains, analysis.Equivalent, analysis.NotResolved, analysis.Invalid:
		return pageVerdict{strings.ReplaceAll(string(v), " ", "-"), string(v), observed}
	}
	return pageVerdict{"invalid", plain(string(v)), observed}
}

// quantityText finds numbers with their units in sentences.
var quantityText = regexp.MustCompile(`([0-9]) (%|[nµm]?s\b|[kMGT]?bit|[KMGT]iB\b)`)

// tie keeps numbers and their units on one line.
func tie(s string) string { return quantityText.ReplaceAllString(s, "$1\u00a0$2") }

// facts are the run at a glance.
func (s *sheet) facts() []entry {
	r := s.run
	state := "complete"
	if !r.Finished {
		state = "not finished"
	}
	if !r.Valid {
		state += ", invalid"
	}
	if s.imported() {
		return s.importedFacts(state)
	}
	list := []entry{{"Run", state}, {"Rounds", wording.Number(float64(r.Rounds), 9)},
		{"Valid trials", fmt.Sprintf("%s of %s", wording.Number(float64(r.Trials.Valid), 9), wording.Number(float64(r.Trials.Planned), 9))},
		{"Invalid attempts", wording.Number(float64(len(r.Invalids)), 9)}, {"Control", s.controlState()}}
	if b := plain(s.plan.Testbed); b != "" {
		list = append(list, entry{"Testbed", b})
	}
	if !r.Start.IsZero() {
		list = append(list, entry{"Started", r.Start.UTC().Format("2 January 2006, 15:04 UTC")})
	}
	var under time.Duration
	for _, session := range r.Sessions {
		under += time.Duration((session.To - session.From) * float64(time.Second))
	}
	if under > 0 {
		list = append(list, entry{"Took", wording.Span(under)})
	}
	if n := len(r.Sessions); n > 1 {
		list = append(list, entry{"Resumed", wording.Count(n-1, "time", "times")})
	}
	return list
}

// pictures draws the forests and the charts of every metric.
func (p *page) pictures(s *sheet) {
	groups := s.ratioGroups()
	rows := 0
	for _, g := range groups {
		rows += len(g.lines())
	}
	if rows <= mostRows && rows > 0 {
		p.Forests = []pageForest{s.pageForest("", groups)}
	} else {
		p.splitForests(s, groups)
	}
	if s.run.Rounds > manyDots {
		p.Thinned = fmt.Sprintf("As each arm has more than %d trials, the dots are an even choice of them, and the lanes show the range and the median of neighbouring trials.", manyDots)
	}
	open := 0
	for _, b := range s.blocks {
		cell := pageCell{ID: plain(b.id)}
		for _, headline := range []bool{true, false} {
			for _, g := range b.only(headline) {
				if g.series == nil {
					continue
				}
				show := headline && open < mostOpen
				if show {
					open++
				}
				cell.Charts = append(cell.Charts, pageChart{Metric: plain(g.metric.Name), Note: g.note(), Open: show,
					Boxes: template.HTML(s.boxes(g)), RunChart: template.HTML(s.runChart(g))})
			}
		}
		if cell.Charts != nil {
			p.Cells = append(p.Cells, cell)
		}
	}
}

// splitForests draws one forest for each cell.
func (p *page) splitForests(s *sheet, groups []group) {
	for from := 0; from < len(groups); {
		to := from
		for to < len(groups) && groups[to].cell == groups[from].cell {
			to++
		}
		f := s.pageForest(plain(groups[from].cell), groups[from:to])
		f.Open = len(p.Forests) < 3
		p.Forests = append(p.Forests, f)
		from = to
	}
}

func (s *sheet) pageForest(title string, groups []group) pageForest {
	return pageForest{Title: title, Open: true, Wide: template.HTML(s.forest(groups, forestWide)),
		Narrow: template.HTML(s.forest(groups, forestNarrow))}
}

// note says what kind of metric a group shows.
func (g group) note() string {
	var parts []string
	if g.metric.Better != "" {
		parts = append(parts, plain(string(g.metric.Better))+" is better")
	}
	if !g.metric.Headline {
		parts = append(parts, "exploratory")
	}
	return strings.Join(parts, ", ")
}

// base is the way from the page to the run directory; "" if the page lies in it.
func (o HTMLOptions) base() string {
	if o.Page == "" {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(o.Page), cmp.Or(o.RunDir, "."))
	if err != nil {
		rel = o.RunDir // one of them is absolute
	}
	if rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// link gives the address of a file of the run, as seen from the page. Whatever
// the name is, the result is a path below the run directory.
func link(base, name string) string {
	slash := strings.HasSuffix(name, "/")
	name = path.Join(base, path.Clean("/" + name)[1:])
	if !path.IsAbs(name) {
		name = "./" + name
	}
	u := (&url.URL{Path: name}).EscapedPath()
	if slash {
		u += "/"
	}
	return u
}
