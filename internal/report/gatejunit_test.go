package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/runs/gate"
)

// junitGrammar is what Jenkins' junit-10.xsd allows: attributes (with a star:
// required) and elements of each element.
var junitGrammar = map[string]struct{ attributes, elements string }{
	"testsuites": {"name time tests failures errors", "testsuite"},
	"testsuite":  {"name* tests* failures* errors* group time skipped timestamp hostname id package file log url", "testsuite properties testcase system-out system-err"},
	"properties": {"", "property"},
	"property":   {"name* value*", ""},
	"testcase":   {"name* time classname group", "skipped error failure system-out system-err"},
	"failure":    {"type message", ""},
	"error":      {"type message", ""},
	"system-out": {"", ""},
}

// A time that is not known is left out.
var junitTime = regexp.MustCompile(`^([0-9]+\.[0-9]{3})?$`)

// TestGateJUnit checks documents against that grammar, the counts against what
// they count, and that names stand for one case each.
func TestGateJUnit(t *testing.T) {
	for name, r := range gateFixtures() {
		var b bytes.Buffer
		if err := GateJUnit(&b, r); err != nil {
			t.Fatal(err)
		}
		checkGrammar(t, name, b.Bytes())
		var doc junitSuites
		if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Seconds == 0 && strings.Contains(b.String(), ` time="`) {
			t.Errorf("%s: a time that is not known:\n%s", name, b.String())
		}
		tests, failures, faults, seen := 0, 0, 0, map[string]bool{}
		for _, s := range doc.Suites {
			tests, failures, faults = tests+s.Tests, failures+s.Failures, faults+s.Errors
			if len(s.Cases) != s.Tests || !junitTime.MatchString(s.Time) {
				t.Errorf("%s: suite %q has %d cases for %d, time %s", name, s.Name, len(s.Cases), s.Tests, s.Time)
			}
			for _, c := range s.Cases {
				seen[c.Classname+" "+c.Name] = true
				if !junitTime.MatchString(c.Time) {
					t.Errorf("%s: time %s", name, c.Time)
				}
				if c.Out == "" || (c.Failure != nil && c.Error != nil) {
					t.Errorf("%s: %+v", name, c)
				}
			}
		}
		red := r.Count(gate.Unresolved) + r.Count(gate.Invalid)
		if tests != len(r.Cases) || failures != r.Count(gate.Fail) || faults != red || doc.Tests != tests || doc.Failures != failures || doc.Errors != faults {
			t.Errorf("%s: %d tests, %d failures, %d errors; want %d, %d, %d", name, tests, failures, faults, len(r.Cases), r.Count(gate.Fail), red)
		}
		if name != "hostile" && len(seen) != len(r.Cases) {
			t.Errorf("%s: %d names for %d cases", name, len(seen), len(r.Cases))
		}
	}
}

func checkGrammar(t *testing.T, name string, text []byte) {
	t.Helper()
	var open []string
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		switch e := token.(type) {
		case xml.StartElement:
			rule, known := junitGrammar[e.Name.Local]
			if !known || len(open) > 0 && !contains(junitGrammar[open[len(open)-1]].elements, e.Name.Local) {
				t.Errorf("%s: <%s> in %v", name, e.Name.Local, open)
			}
			given := ""
			for _, a := range e.Attr {
				given += a.Name.Local + " "
				if !contains(strings.ReplaceAll(rule.attributes, "*", ""), a.Name.Local) {
					t.Errorf("%s: <%s %s>", name, e.Name.Local, a.Name.Local)
				}
			}
			for _, a := range strings.Fields(rule.attributes) {
				if needed, required := strings.CutSuffix(a, "*"); required && !contains(given, needed) {
					t.Errorf("%s: <%s> without %s", name, e.Name.Local, needed)
				}
			}
			open = append(open, e.Name.Local)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

func contains(words, word string) bool {
	return strings.Contains(" "+words+" ", " "+word+" ")
}

// TestGateJUnitElsewhere reads the documents with a parser of another make.
func TestGateJUnitElsewhere(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on this machine")
	}
	for name, r := range gateFixtures() {
		var b bytes.Buffer
		if err := GateJUnit(&b, r); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "-c", "import sys, xml.dom.minidom as m; d = m.parseString(sys.stdin.buffer.read()); print(len(d.getElementsByTagName('testcase')))")
		cmd.Stdin = &b
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(len(r.Cases)) {
			t.Errorf("%s: %s, %v; want %d cases", name, out, err, len(r.Cases))
		}
	}
}
