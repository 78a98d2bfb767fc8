package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"time"

	"tare/gate"
	"tare/wording"
)

// GateJUnit writes a gate as JUnit XML, as CI systems read it: one test case for
// each case of the gate, one suite for each arm in a cell. Names are the same in
// every run of an experiment. What fails is a failure; what is unresolved, and
// every case of a run that gives no verdicts, is an error: both turn a pipeline
// red, and neither can be mistaken for the other. A skipped test would not: CI
// systems show it as good enough.
//
// The form is the one that Jenkins' xUnit plugin checks (junit-10.xsd), which
// allows properties for suites only; those of a case carry its name in front.
func GateJUnit(w io.Writer, r *gate.Result) error {
	doc := junitSuites{Name: "tare gate " + plain(r.Name), Time: seconds(r.Seconds)}
	places := map[[2]string]int{}
	for _, c := range r.Cases {
		at, ok := places[[2]string{c.Cell, c.Arm}]
		if !ok {
			at = len(doc.Suites)
			places[[2]string{c.Cell, c.Arm}] = at
			doc.Suites = append(doc.Suites, newSuite(r, c))
		}
		doc.Suites[at].add(r, c)
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
	s := junitSuite{Name: plain(r.Name) + "." + plain(c.Cell) + "." + plain(c.Arm)}
	if !r.Start.IsZero() {
		s.Timestamp = r.Start.UTC().Format(time.DateOnly + "T" + time.TimeOnly)
	}
	s.property("run", r.Run)
	s.property("outcome", string(r.Outcome))
	s.property("baseline", r.Baseline)
	s.property("confidence", strconv.FormatFloat(r.Confidence, 'g', -1, 64))
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
	what := wording.GateWhat(c)
	s.property(what+".limit", c.Budget.String())
	s.property(what+".outcome", string(c.Outcome))
	if c.Estimated {
		for i, v := range []float64{c.Overhead.Point, c.Overhead.Lo, c.Overhead.Hi, c.P, c.PAdjusted} {
			s.property(what+"."+[...]string{"overhead", "overhead.lo", "overhead.hi", "p", "p.holm"}[i], field{value: v}.text())
		}
	}
	s.property(what+".size", strconv.Itoa(c.Size))
	k := junitCase{Name: what, Classname: s.Name, Time: seconds(c.Seconds), Out: wording.GateSentence(r, c)}
	result := &junitResult{Message: wording.GateWhy(r, c), Text: wording.GateSentence(r, c)}
	switch c.Outcome {
	case gate.Pass:
	case gate.Fail:
		result.Type, k.Failure = "over the limit", result
		s.Failures++
	default:
		result.Type, k.Error = string(c.Outcome), result
		s.Errors++
	}
	s.Tests++
	s.spent += c.Seconds
	s.Time = seconds(s.spent)
	s.Cases = append(s.Cases, k)
}

// seconds writes a time as JUnit has it; one that is not known is left out.
func seconds(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
