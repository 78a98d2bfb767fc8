package report

import (
	"bufio"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"tare/analysis"
	comparing "tare/compare"
	"tare/experiment"
	"tare/wording"
)

// CompareOptions is what the page of a comparison shows besides it.
type CompareOptions struct {
	Generated time.Time // shown at the foot unless zero
}

// CompareHTML writes a comparison of runs as one page that needs neither network
// nor scripts.
func CompareHTML(w io.Writer, r *comparing.Result, o CompareOptions) error {
	buffered := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate.ExecuteTemplate(buffered, "compare.gohtml", makeComparePage(r, o)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// comparePage is everything that the template shows, as text; html/template
// escapes it.
type comparePage struct {
	CSS                                     template.CSS
	Title, Footer, Observational, Reference string
	Several                                 bool
	Floors                                  bool // there are controls to compare
	Imported, Measured                      bool // some run is of another tool, or of Tare in rounds of random order
	Runs                                    []compareRun
	Warnings                                []string
	Answers                                 []pageAnswer
	Differences, Minor                      compareProperties
	Apart                                   []string
	Same                                    []entry
	Confidence, Margin                      string
	Forests                                 []pageForest
	Changes, ExploratoryChanges             compareTable
	Levels, ExploratoryLevels               compareTable
}

type compareRun struct {
	Number           int
	Name, What, Arms string
}

type compareProperties struct {
	Numbers []int
	Rows    []compareProperty
}

type compareProperty struct {
	Group, Path string
	Values      []string
}

type compareTable struct {
	Note    string
	Numbers []int
	Columns int
	Metrics []*comparedMetric
}

func makeComparePage(r *comparing.Result, o CompareOptions) *comparePage {
	p := &comparePage{CSS: template.CSS(paletteCSS() + pictureCSS + pageCSS), Title: "Comparison of " + wording.Count(len(r.Runs), "run", "runs"),
		Observational: brief(r.Observational), Reference: comparedReference(r), Several: len(r.Runs) > 1, Floors: len(r.Floors) > 0, Footer: "Made by tare compare",
		Confidence: wording.Share(float64(r.Confidence)), Same: sameByGroup(r, 0)}
	if r.Margin > 0 {
		p.Margin = "±" + wording.Share(float64(r.Margin))
	}
	if !o.Generated.IsZero() {
		p.Footer += ", " + o.Generated.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Footer += "."
	var numbers []int
	for _, run := range r.Runs {
		numbers = append(numbers, run.Number)
		if run.Observational != "" {
			p.Imported = true
		} else {
			p.Measured = true
		}
		var arms []string
		for _, a := range run.Arms {
			arms = append(arms, plain(a.Name))
		}
		p.Runs = append(p.Runs, compareRun{run.Number, plain(run.Name), comparedRun(run), strings.Join(arms, ", ")})
	}
	for _, text := range r.Warnings {
		p.Warnings = append(p.Warnings, sentence(brief(text)))
	}
	p.Differences.Numbers, p.Minor.Numbers = numbers, numbers
	for _, d := range r.Differences {
		to := &p.Differences
		if d.Minor {
			to = &p.Minor
		}
		to.Rows = append(to.Rows, compareProperty{plain(string(d.Group)), plain(d.Path), comparedValues(d)})
	}
	for _, a := range r.Apart {
		p.Apart = append(p.Apart, upperFirst(apartText(a))+".")
	}
	for _, text := range r.Unknown {
		p.Apart = append(p.Apart, sentence(brief(text)))
	}
	for _, c := range r.Changes {
		if c.Metric.Headline {
			p.Answers = append(p.Answers, pageAnswer{Verdict: badge(c.Verdict, observed(c.Comparison)), Text: tie(changeAnswer(c))})
		}
	}
	table := func(metrics []*comparedMetric, family int) compareTable {
		return compareTable{Note: familyNote(family), Numbers: numbers, Columns: len(numbers) + 1, Metrics: metrics}
	}
	p.Changes, p.ExploratoryChanges = table(changeRows(r, true), r.Family.Changes), table(changeRows(r, false), 0)
	p.Levels, p.ExploratoryLevels = table(levelRows(r, true), r.Family.Levels), table(levelRows(r, false), 0)
	p.forests(r)
	return p
}

// changeAnswer says a change with where it stands.
func changeAnswer(c comparing.Change) string {
	return fmt.Sprintf("%s on %s in %s, run %d: %s.", plain(changeName(c)), plain(c.Metric.Name), plain(c.Cell), c.To.Run,
		told(c.Comparison))
}

// forests draws the changes. They are put into the form of a run whose arms are
// the pairs of overheads.
func (p *comparePage) forests(r *comparing.Result) {
	plan := &experiment.Plan{Equivalence: r.Margin, Arms: []experiment.PlannedArm{{Name: "the overhead it had", Role: experiment.Baseline}}}
	known := map[string]bool{}
	arm := func(c comparing.Change, role experiment.Role) string {
		name := changeName(c)
		if len(r.Runs) > 2 || c.Direct {
			name += fmt.Sprintf(", run %d", c.To.Run)
		}
		if !known[name] {
			known[name] = true
			plan.Arms = append(plan.Arms, experiment.PlannedArm{Name: name, Role: role})
		}
		return name
	}
	drawn := &analysis.Run{Plan: plan, Valid: true}
	for _, list := range []struct {
		changes []comparing.Change
		role    experiment.Role
	}{{r.Changes, experiment.Treatment}, {r.Floors, experiment.Control}} {
		for _, c := range list.changes {
			one := c.Comparison
			one.Arm = arm(c, list.role)
			drawn.Comparisons = append(drawn.Comparisons, one)
		}
	}
	s := arrange(drawn)
	groups := s.ratioGroups()
	rows := 0
	for _, g := range groups {
		rows += len(g.lines())
	}
	if rows > 0 && rows <= mostRows {
		p.Forests = []pageForest{s.pageForest("", groups)}
		return
	}
	var split page
	split.splitForests(s, groups)
	p.Forests = split.Forests
}
