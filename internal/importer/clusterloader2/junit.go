package clusterloader2

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"tare/internal/experiment"
	"tare/internal/importer"
)

// testcase is a test, or one step of it.
type testcase struct {
	Name    string   `xml:"name,attr"` // such as "load overall (testing/load/config.yaml)" or "load: [step: 01] …"
	Time    string   `xml:"time,attr"` // the duration, in s
	Failure *failure `xml:"failure"`
	Error   *failure `xml:"error"`
}

type failure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// overall follows a test's name in the entry of the whole test.
const overall = " overall ("

func readJUnit(text []byte) ([]importer.Trial, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	var trials []importer.Trial
	for root := true; ; {
		token, err := d.Token()
		var syntax *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && len(trials) > 0:
			return trials, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("junit.xml holds no test of ClusterLoader2 (\"NAME overall (CONFIG)\")")
		case errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
			return nil, fmt.Errorf("the XML has no end (line %d): the file is truncated", syntax.Line)
		case err != nil:
			return nil, err
		}
		begin, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if name := begin.Name.Local; root && name != "testsuite" && name != "testsuites" {
			return nil, fmt.Errorf("the XML begins with <%.40s>, not with a test suite: is it junit.xml?", name)
		}
		root = false
		if begin.Name.Local != "testcase" {
			continue
		}
		var c testcase
		if err := d.DecodeElement(&c, &begin); err != nil {
			if errors.As(err, &syntax) && syntax.Msg == "unexpected EOF" {
				return nil, fmt.Errorf("the XML has no end (line %d): the file is truncated", syntax.Line)
			}
			return nil, err
		}
		if !strings.Contains(c.Name, overall) {
			continue // the entry of the whole test repeats the failure of a step
		}
		t, err := c.trial()
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
}

func (c *testcase) trial() (importer.Trial, error) {
	name, config, _ := strings.Cut(c.Name, overall)
	t := importer.Trial{
		Kind: "kubernetes", Cell: "junit." + strings.TrimSpace(name),
		Facts: map[string]string{"config": strings.TrimSuffix(config, ")")},
	}
	s, err := importer.Number(c.Time)
	if err != nil {
		return t, fmt.Errorf("the time of %.60q: %w", c.Name, err)
	}
	t.Wall = importer.Seconds(s)
	for _, f := range []*failure{c.Failure, c.Error} {
		if f != nil {
			t.Broken = "the test failed: " + reason(f)
			return t, nil
		}
	}
	t.Add(experiment.Metric{Name: "duration", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}, s)
	return t, nil
}

// reason returns the text of a failure on one line. It leaves out the source positions around the text, which
// ClusterLoader2 leaves empty.
func reason(f *failure) string {
	var lines []string
	for line := range strings.Lines(f.Message + "\n" + f.Text) {
		if line = strings.TrimSpace(line); line != "" && line != ":0" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "no reason is told"
	}
	return strings.Join(lines, " ")
}
