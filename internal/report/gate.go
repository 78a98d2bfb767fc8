package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"tare/internal/analysis"
	doc "tare/internal/report/document"
	"tare/internal/report/figure"
	"tare/internal/report/wording"
	"tare/internal/runs/gate"
)

// Gate shows the outcome of a gate: a row for each overhead with its limit, and explanations. link is the address of
// the run's report; "": none.
func Gate(r *gate.Result, link string) *doc.Document {
	d := &doc.Document{Title: wording.GateLine(r), Style: gateStyle(r.Outcome), Level: 3, Styles: figure.PageCSS(), Footer: "Made by tare gate."}
	about := doc.Words(wording.GateScope(r) + ".")
	if link != "" {
		about = append(about, doc.Span{Words: " Report", Link: link})
	}
	observed, shared, warnings := wording.Observation(r.Observation), wording.GateShared(r), plainAll(wording.Findings(r.Warnings))
	var why []string
	for _, c := range r.Cases {
		if c.Outcome != gate.Unresolved || !slices.Contains(shared, wording.GateWhy(r, c)) {
			why = append(why, wording.GateSentence(r, c))
		}
	}
	for _, c := range r.Cases {
		if c.Previous != nil {
			change, runs := wording.GatePrevious(r, c)
			why = append(why, fmt.Sprintf("%s, %s in %s, previous run: %s (%s).", plain(c.Arm), plain(c.Metric.Name), plain(c.Cell), change, runs))
		}
	}
	reasons := plainAll(wording.GateReasons(r))
	if r.Valid { // if the run is valid, the title states the reasons already
		reasons = nil
	}
	return d.Add(doc.Paragraph{Text: about},
		doc.If(observed != "", doc.Paragraph{Text: doc.In(doc.Strong, "Observational: "+plain(observed))}),
		doc.List{Items: doc.Each(append(reasons, shared...))}, gateCases(r, shared),
		doc.Section{Title: "Why", Fold: doc.Markdown, NoTitle: doc.Terminal | doc.Page, Blocks: []doc.Block{
			doc.On(doc.Markdown, doc.List{Items: doc.Each(why)}),
			doc.If(len(warnings) > 0, doc.Alert{Title: beforeTrusting, Items: doc.Each(warnings)}),
			doc.On(doc.Markdown|doc.Page, doc.Say(fmt.Sprintf(gateLegend, wording.Share(r.Level))))}})
}

const gateLegend = "A case passes when its interval ends within the limit, and fails when the overhead is shown to be over it; " +
	"the chance of any false failure is at most %s."

// gateCases makes the table of overheads and limits, with a group of rows for each cell. Markdown has a column for the
// cell, so that there is one table.
func gateCases(r *gate.Result, shared []string) doc.Table {
	t := doc.Table{NoTitles: true, Columns: []doc.Column{
		{Signs: true}, {Title: "arm", Kind: doc.Name, Tight: true}, {Title: "metric", Kind: doc.Name}, {Title: "cell", Kind: doc.Name, In: doc.Markdown},
		{Title: "limit", Label: "limit"}, {Title: "overhead", Right: true}, {Title: wording.Confidence(r.Confidence) + " interval", Right: true, Tight: true},
		{Title: "why", Kind: doc.Prose, In: doc.Terminal | doc.Page},
	}}
	for i, c := range r.Cases {
		if i == 0 || c.Cell != r.Cases[i-1].Cell {
			t.Groups = append(t.Groups, doc.Group{Title: doc.Words(plain(c.Cell)), Parts: []doc.Part{{}}})
		}
		point, interval := wording.GateOverhead(c)
		why := when(c.Outcome != gate.Pass && (c.Outcome != gate.Invalid || c.Reason == gate.NotFinished), wording.GateBrief(r, c, shared))
		outcome := badged(doc.In(gateStyle(c.Outcome), string(c.Outcome)), c.Grade == analysis.Normal, ifNormalMark)
		t.Groups[len(t.Groups)-1].Add(doc.Row{Cells: append([]doc.Cell{doc.Of(outcome)},
			doc.Cells(plain(c.Arm), wording.GateSubject(c), plain(c.Cell), plain(c.Budget.String()), point, interval, why)...)})
		if c.Previous != nil {
			change, runs := wording.GatePrevious(r, c)
			t.Groups[len(t.Groups)-1].Add(doc.Row{Muted: true, Cells: append([]doc.Cell{doc.C("")},
				doc.Cells(plain(c.Arm), plain(c.Metric.Name)+" (previous)", plain(c.Cell), "", change, "", runs)...)})
		}
	}
	return t
}

// GateJUnit writes a gate as JUnit XML for CI systems: a test case for each case of the gate (an overhead with its
// limit), and a suite for each arm in a cell. Names are the same in every run of an experiment.
//
// A failed case is a failure. An unresolved case, and every case of an invalid run, is an error. Both turn a pipeline
// red. Unresolved cases are not skipped tests, because CI systems treat skipped tests as passed.
//
// The format follows the schema of Jenkins' xUnit plugin (junit-10.xsd), which allows properties for suites only. The
// properties of a case are therefore in its suite, and their names begin with the name of the case.
func GateJUnit(w io.Writer, r *gate.Result) error {
	doc := junitSuites{Name: "tare gate " + plain(r.Name), Time: seconds(r.Seconds)}
	for _, c := range r.Cases {
		findOrAdd(&doc.Suites, func(s junitSuite) bool { return s.cell == c.Cell && s.arm == c.Arm }, newSuite(r, c)).add(r, c)
	}
	for _, s := range doc.Suites {
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
	}
	data, err := xml.MarshalIndent(doc, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	}
	if err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	return nil
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Time     string       `xml:"time,attr,omitempty"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr,omitempty"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	cell, arm  string
	spent      float64
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	Classname string       `xml:"classname,attr"`
	Time      string       `xml:"time,attr,omitempty"`
	Failure   *junitResult `xml:"failure"`
	Error     *junitResult `xml:"error"`
	Out       string       `xml:"system-out"`
}

type junitResult struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func newSuite(r *gate.Result, c gate.Case) junitSuite {
	s := junitSuite{Name: plain(r.Name) + "." + plain(c.Cell) + "." + plain(c.Arm), cell: c.Cell, arm: c.Arm}
	s.Timestamp = when(!r.Start.IsZero(), r.Start.UTC().Format(time.DateOnly+"T"+time.TimeOnly))
	s.property("run", r.Run)
	s.property("outcome", string(r.Outcome))
	s.property("baseline", r.Baseline)
	s.property("confidence", exact(r.Confidence))
	if r.Against != "" {
		s.property("against", r.Against)
	}
	if r.Observation != nil {
		s.property("observational", wording.Observation(r.Observation))
	}
	return s
}

func (s *junitSuite) property(name, value string) {
	s.Properties = append(s.Properties, junitProperty{plain(name), plain(value)})
}

func (s *junitSuite) add(r *gate.Result, c gate.Case) {
	what := wording.GateSubject(c)
	s.property(what+".limit", c.Budget.String())
	s.property(what+".outcome", string(c.Outcome))
	if c.Grade != analysis.Measured {
		s.property(what+".grade", string(c.Grade))
	}
	if c.Estimated {
		for _, f := range []field{{"overhead.cost", c.Overhead.Point}, {"overhead.cost.lo", c.Overhead.Lo},
			{"overhead.cost.hi", c.Overhead.Hi}, {"p", c.P}, {"p.holm", c.PAdjusted}} {
			s.property(what+"."+f.column, f.text())
		}
	}
	s.property(what+".size", strconv.Itoa(c.Size))
	k := junitCase{Name: what, Classname: s.Name, Time: seconds(c.Seconds), Out: wording.GateSentence(r, c)}
	result := &junitResult{Type: string(c.Outcome), Message: wording.GateWhy(r, c), Text: k.Out}
	switch c.Outcome {
	case gate.Pass:
	case gate.Fail:
		result.Type = "over the limit"
		k.Failure = result
		s.Failures++
	default:
		k.Error = result
		s.Errors++
	}
	s.Tests++
	s.spent += c.Seconds
	s.Time = seconds(s.spent)
	s.Cases = append(s.Cases, k)
}

// seconds writes a time in JUnit's format; "" if unknown.
func seconds(v float64) string { return when(v > 0, strconv.FormatFloat(v, 'f', 3, 64)) }
