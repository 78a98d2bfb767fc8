package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tare/toolformat/jsondoc"
)

// document is a report, or with --json-stream one event of a test.
type document struct {
	Start     Start           `json:"start"`
	Intervals []Interval      `json:"intervals"`
	End       End             `json:"end"`
	Error     string          `json:"error"`
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
}

// stream gathers the tests of a file.
type stream struct {
	each   func(*Report) error
	given  bool    // a test was given to each
	failed string  // why a test failed before it was set up
	open   *Report // test whose events are being read
	cookie string  // of the last test whose events were read
}

// Tests gives the reports of the tests of a file in order. A server also reports connections
// that never became a test, such as the probes of a load balancer: they are
// passed over, unless there is nothing else.
func Tests(r io.Reader, each func(*Report) error) error {
	documents := jsondoc.New(r)
	s := stream{each: each}
	for {
		decoder, err := documents.Next()
		if errors.Is(err, io.EOF) {
			if documents.Blank() {
				return errors.New("the file is empty")
			}
			return s.end()
		}
		if err != nil {
			return err
		}
		var d document
		if err := decoder.Decode(&d); err != nil {
			return jsondoc.Explain(err)
		}
		if err := s.take(&d); err != nil {
			return err
		}
	}
}

// take takes a document in.
func (s *stream) take(d *document) error {
	if d.Event != "" {
		return s.event(d)
	}
	if d.Start.Version == "" && d.Start.TestStart == nil && d.Error == "" {
		return nil // not iperf3's
	}
	if err := s.close(cutOff); err != nil {
		return err
	}
	if s.cookie != "" && d.Start.Cookie == s.cookie {
		return nil // --json-stream-full-output repeats the events as a report
	}
	return s.finish(&Report{Start: d.Start, Intervals: d.Intervals, End: d.End, Error: d.Error})
}

// event takes an event in. A test that fails at once has no start.
func (s *stream) event(d *document) error {
	if d.Event == "start" {
		if err := s.close(cutOff); err != nil {
			return err
		}
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
		return nil // what the server wrote, with --get-server-output
	}
	if len(d.Data) == 0 {
		return fmt.Errorf("event %q has no data", d.Event)
	}
	if err := json.Unmarshal(d.Data, into); err != nil {
		return fmt.Errorf("event %q: %w", d.Event, jsondoc.Explain(err))
	}
	if d.Event == "end" {
		return s.close("")
	}
	return nil
}

const cutOff = "the events of the test stop before its end"

// close ends the test whose events are being read, if there is one.
func (s *stream) close(failure string) error {
	if s.open == nil {
		return nil
	}
	r := s.open
	s.open, s.cookie = nil, r.Start.Cookie
	if r.Error == "" {
		r.Error = failure
	}
	return s.finish(r)
}

// finish gives a test on.
func (s *stream) finish(r *Report) error {
	if r.Start.TestStart == nil {
		s.failed = r.Error
		if r.Error == "" {
			s.failed = "no test (start.test_start is missing)"
		}
		return nil
	}
	s.given = true
	return s.each(r)
}

// end is reached when the file is.
func (s *stream) end() error {
	if err := s.close(cutOff); err != nil {
		return err
	}
	switch {
	case s.given:
		return nil
	case s.failed != "":
		return fmt.Errorf("iperf3 reports: %s", s.failed)
	}
	return errors.New("no JSON of iperf3: it writes some with -J or --json-stream")
}
