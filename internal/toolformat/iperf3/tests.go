package iperf3

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tare/internal/toolformat/jsondoc"
)

// document is a report, or with --json-stream one event of a test.
type document struct {
	Start     start           `json:"start"`
	Intervals []Interval      `json:"intervals"`
	End       end             `json:"end"`
	Error     string          `json:"error"`
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
}

type stream struct {
	tests  []*Report
	failed string  // the reason why a test failed before it was set up
	open   *Report // the test whose events are being read
	cookie string  // the cookie of the last test whose events were read
}

// Tests returns the reports of the tests of a file, in order. A server also reports connections that never
// became a test, such as the probes of a load balancer. They are ignored, unless the file has no test.
func Tests(r io.Reader) ([]*Report, error) {
	var s stream
	if err := jsondoc.Each(r, s.take); err != nil {
		return nil, err
	}
	return s.end()
}

func (s *stream) take(d *document) error {
	if d.Event != "" {
		return s.event(d)
	}
	if d.Start.Version == "" && d.Start.TestStart == nil && d.Error == "" {
		return nil // the document is not iperf3's
	}
	s.close(cutOff)
	if s.cookie == "" || d.Start.Cookie != s.cookie { // else: --json-stream-full-output repeats the read events
		s.finish(&Report{Start: d.Start, Intervals: d.Intervals, End: d.End, Error: d.Error})
	}
	return nil
}

// event reads an event. A test that fails at once has no start.
func (s *stream) event(d *document) error {
	if d.Event == "start" {
		s.close(cutOff)
	}
	if s.open == nil {
		s.open = &Report{}
	}
	var into any
	switch d.Event {
	case "start":
		into = &s.open.Start
	case "interval":
		s.open.Intervals = append(s.open.Intervals, Interval{})
		into = &s.open.Intervals[len(s.open.Intervals)-1]
	case "error":
		into = &s.open.Error
	case "end":
		into = &s.open.End
	default:
		return nil // the server's output, with --get-server-output
	}
	if len(d.Data) == 0 {
		return fmt.Errorf("event %q has no data", d.Event)
	}
	if err := json.Unmarshal(d.Data, into); err != nil {
		return fmt.Errorf("event %q: %w", d.Event, jsondoc.Explain(err))
	}
	if d.Event == "end" {
		s.close("")
	}
	return nil
}

const cutOff = "the events of the test stop before its end"

// close ends the test whose events are being read, if there is one.
func (s *stream) close(failure string) {
	if s.open == nil {
		return
	}
	r := s.open
	s.open, s.cookie = nil, r.Start.Cookie
	if r.Error == "" {
		r.Error = failure
	}
	s.finish(r)
}

// finish adds a complete test.
func (s *stream) finish(r *Report) {
	if r.Start.TestStart == nil {
		s.failed = cmp.Or(r.Error, "no test (start.test_start is missing)")
		return
	}
	s.tests = append(s.tests, r)
}

func (s *stream) end() ([]*Report, error) {
	s.close(cutOff)
	switch {
	case len(s.tests) > 0:
		return s.tests, nil
	case s.failed != "":
		return nil, fmt.Errorf("iperf3 reports: %s", s.failed)
	}
	return nil, errors.New("no JSON of iperf3: it writes some with -J or --json-stream")
}
