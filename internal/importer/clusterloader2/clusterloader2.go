// Package clusterloader2 reads the report directory of ClusterLoader2, the load test of Kubernetes, file by file. It
// reads junit.xml and the summaries on performance (PerfData), resource usage and scheduling throughput.
//
// A summary's file is called MEASUREMENT_TEST_TIME.json. The measurement, the test and the labels of an item name the
// cell: "PodStartupLatency_..._load.pod_startup". Each run adds one trial to a cell. ClusterLoader2 has computed the
// quantiles. The 99th percentile is the headline if an objective of Kubernetes limits the latency. API calls have too
// many cells for headlines: the user may choose some.
//
// junit.xml contains the duration of each test. If a test failed, its trial from junit.xml is invalid. Its trials from
// summaries count: ClusterLoader2 fails tests with high latencies, which must not be dropped.
package clusterloader2

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/importer"
)

// Format reads files of ClusterLoader2's report directory.
var Format = importer.Format{
	Name:       "clusterloader2",
	Doc:        "ClusterLoader2's report directory: PerfData summaries, resource usage, scheduling throughput and junit.xml",
	Extensions: []string{".json", ".xml"},
	Read:       importer.Whole(read),
}

func read(f importer.File, data []byte) ([]importer.Trial, error) {
	text := bytes.TrimLeft(data, " \t\r\n\ufeff")
	switch {
	case len(text) == 0:
		return nil, errors.New("the file is empty")
	case text[0] == '<':
		return readJUnit(text)
	}
	return readSummary(f.Name, text)
}

// stamp matches the time at the end of a file's name. Instead of colons, the time may have dashes or underscores, as
// some systems write times.
var stamp = regexp.MustCompile(`_(\d{4}-\d\d-\d\dT\d\d)[:_-](\d\d)[:_-](\d\d)(Z|[+-]\d\d[:_-]?\d\d)$`)

// trialOf returns a trial without values. The file's name gives the cell and the start. A name without a time was
// chosen by the user, and is the cell.
func trialOf(file string) importer.Trial {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".json")
	t := importer.Trial{Kind: "kubernetes", Cell: name}
	if m := stamp.FindStringSubmatch(name); m != nil {
		t.Cell = strings.TrimSuffix(name, m[0])
		zone := m[4]
		if n := len(zone); n > 1 {
			zone = zone[:3] + ":" + zone[n-2:]
		}
		t.Start, _ = time.Parse(time.RFC3339, m[1]+":"+m[2]+":"+m[3]+zone) // zero if the text is no time
	}
	t.Cell = cmp.Or(t.Cell, "summary")
	return t
}

// testcase is a test of ClusterLoader2, or one step of a test.
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

// overall stands in junit.xml between a test's name and its configuration. Only the entry of a complete test has it,
// and no entry of a step.
const overall = " overall ("

// suite is the root of junit.xml, or a test suite within another suite.
type suite struct {
	XMLName xml.Name
	Suites  []suite    `xml:"testsuite"`
	Tests   []testcase `xml:"testcase"`
}

func readJUnit(text []byte) ([]importer.Trial, error) {
	var root suite
	err := xml.Unmarshal(text, &root)
	var syntax *xml.SyntaxError
	switch name := root.XMLName.Local; {
	case name != "" && name != "testsuite" && name != "testsuites":
		return nil, fmt.Errorf("the XML begins with <%.40s>, not with a test suite: is it junit.xml?", name)
	case errors.As(err, &syntax) && syntax.Msg == "unexpected EOF":
		return nil, fmt.Errorf("the XML has no end (line %d): the file is truncated", syntax.Line)
	case err != nil && !errors.Is(err, io.EOF): // for a text without any element, Unmarshal returns io.EOF
		return nil, err
	}
	trials, err := root.trials()
	if err == nil && len(trials) == 0 {
		err = errors.New("junit.xml holds no test of ClusterLoader2 (\"NAME overall (CONFIG)\")")
	}
	return trials, err
}

// trials returns a trial for each test. Steps of a test give none: the failure of a step also makes the test fail.
func (s *suite) trials() (list []importer.Trial, err error) {
	for _, inner := range s.Suites {
		trials, err := inner.trials()
		if err != nil {
			return nil, err
		}
		list = append(list, trials...)
	}
	for _, c := range s.Tests {
		if strings.Contains(c.Name, overall) {
			t, err := c.trial()
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	return list, nil
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
	if f := cmp.Or(c.Failure, c.Error); f != nil {
		t.Broken = "the test failed: " + reason(f)
		return t, nil
	}
	t.Add(experiment.Metric{Name: "duration", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}, s)
	return t, nil
}

// reason returns the text of a failure on one line. It leaves out ":0", an empty source position that ClusterLoader2
// adds.
func reason(f *failure) string {
	var lines []string
	for line := range strings.Lines(f.Message + "\n" + f.Text) {
		if line = strings.TrimSpace(line); line != "" && line != ":0" {
			lines = append(lines, line)
		}
	}
	return cmp.Or(strings.Join(lines, " "), "no reason is told")
}
