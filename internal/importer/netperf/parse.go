package netperf

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"tare/internal/importer"
)

type result struct {
	banner  string            // the line that begins the result; empty with netperf's option -P 0
	fields  map[string]string // by netperf's name: "THROUGHPUT_UNITS"
	interim []interim
}

// interim is a line that demo mode (-D) prints during the test.
type interim struct {
	value   float64
	unit    string
	seconds float64 // the length of the interval, in s
}

type parser struct {
	done    func(*result) error // function that is called with each complete result
	result  *result             // the result that is being read; nil before the first
	results int                 // the number of complete results
	tests   int                 // the number of tests that have begun
	columns []string            // lines of the column form that is being read: up to four of titles, then the values
	titles  []string            // the titles of the comma-separated values on the next line
	bare    bool                // set if the file has values without titles
}

func (p *parser) all(text string) error {
	first, number := "", 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if first == "" {
			first = strings.TrimSpace(line)
		}
		if err := p.line(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := p.block(); err != nil {
		return err
	}
	complete := p.results
	if err := p.begin(""); err != nil {
		return err
	}
	switch {
	case p.results > complete:
		return nil
	case p.results > 0:
		return errors.New("the last test has no result: the file is truncated")
	case p.tests > 1:
		return errors.New("a test has no result that could be read: omni output is needed, as netperf prints it with -- -o, -- -O or -- -k")
	case p.bare:
		return errors.New("the values have no titles: run netperf without -P 0, or with -- -k")
	}
	return fmt.Errorf("the file has no result of netperf; it begins with %.80q", first)
}

func (p *parser) begin(banner string) error {
	last := p.result
	p.result = &result{banner: banner, fields: map[string]string{}}
	p.tests++
	if last == nil || len(last.fields) == 0 {
		return nil
	}
	p.results++
	return p.done(last)
}

// set records a value of the current result. A repeated key begins a new result: with -P 0, netperf prints no banner
// between results.
func (p *parser) set(key, value string) error {
	known := p.result == nil
	if !known {
		_, known = p.result.fields[key]
	}
	if known {
		if err := p.begin(""); err != nil {
			return err
		}
	}
	p.result.fields[key] = strings.Trim(strings.TrimSpace(value), `"`)
	return nil
}

func (p *parser) line(line string) error {
	if p.titles != nil && strings.TrimSpace(line) != "" {
		return p.values(line)
	}
	switch {
	case strings.Contains(line, " TEST from ") || strings.Contains(line, " TEST to "):
		if err := p.block(); err != nil {
			return err
		}
		return p.begin(line)
	case strings.HasPrefix(line, "Interim result: "):
		p.demo(line)
	case key(line) != "":
		name := key(line)
		return p.set(name, line[len(name)+1:])
	case strings.HasPrefix(line, "Throughput,"), strings.Contains(line, ",Throughput,"):
		var err error
		p.titles, err = split(line)
		return err
	case line == "": // a line of blanks does not end the columns: it can be a line of titles
		return p.block()
	case p.result != nil:
		p.columns = append(p.columns, line)
	default:
		p.bare = p.bare || strings.Contains(line, ",") || strings.HasSuffix(line, "/s")
	}
	return nil
}

// key returns the name in a line such as "THROUGHPUT_UNITS=Trans/s"; "" if the line has another form.
func key(line string) string {
	name, _, ok := strings.Cut(line, "=")
	if !ok || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return ""
	}
	return name
}

func (p *parser) values(line string) error {
	values, err := split(line)
	if err != nil {
		return err
	}
	if len(values) != len(p.titles) {
		return fmt.Errorf("there are %d titles and %d values", len(p.titles), len(values))
	}
	for i, title := range p.titles {
		if name, ok := names[title]; ok {
			if err := p.set(name, values[i]); err != nil {
				return err
			}
		}
	}
	p.titles = nil
	return nil
}

// split splits comma-separated values. One of them is the command line, in quotes.
func split(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes = true
	return r.Read()
}

// block reads a result in columns: lines of titles above a line of values. A missing value makes its left neighbour
// unreadable, since their titles join.
func (p *parser) block() error {
	const most = 4 // the largest number of lines of titles
	lines := p.columns
	p.columns = nil
	if p.titles != nil {
		return errors.New("there are titles without values: the file is truncated")
	}
	if len(lines) < 2 {
		return nil
	}
	values, titles := lines[len(lines)-1], lines[max(0, len(lines)-1-most):len(lines)-1]
	if strings.HasSuffix(strings.TrimSpace(values), "bits/sec") {
		return nil // this is netperf's classic output, which Tare does not read
	}
	columns := words.FindAllStringIndex(values, -1)
	for i, at := range columns {
		begin, end := at[0], at[1]
		switch {
		case values[begin] == '"':
			end = len(values) // the command line in quotes is the last column and may contain blanks
		case i == len(columns)-1:
			end = math.MaxInt // takes the rest of the line: a title may be longer than the last value
		}
		var title []string
		for _, line := range titles {
			if part := strings.TrimSpace(line[min(begin, len(line)):min(end, len(line))]); part != "" {
				title = append(title, part)
			}
		}
		if name, ok := names[strings.Join(title, " ")]; ok {
			if err := p.set(name, values[begin:min(end, len(values))]); err != nil {
				return err
			}
		}
	}
	return nil
}

var words = regexp.MustCompile(`[^ ]+ *`)

// demo reads a line such as "Interim result: 9414.92 10^6bits/s over 1.000 seconds ending at …".
func (p *parser) demo(line string) {
	f := strings.Fields(line)
	if p.result == nil || len(f) < 6 || f[4] != "over" {
		return
	}
	value, err := importer.Number(f[2])
	seconds, err2 := importer.Number(f[5])
	if err != nil || err2 != nil || seconds <= 0 {
		return
	}
	p.result.interim = append(p.result.interim, interim{value, f[3], seconds})
}

// names maps titles in the forms -o and -O to the names in the form -k. Other titles are not read.
var names = map[string]string{
	"Throughput":                           "THROUGHPUT",
	"Throughput Units":                     "THROUGHPUT_UNITS",
	"Elapsed Time (sec)":                   "ELAPSED_TIME",
	"Protocol":                             "PROTOCOL",
	"Direction":                            "DIRECTION",
	"Local Send Size":                      "LOCAL_SEND_SIZE",
	"Remote Send Size":                     "REMOTE_SEND_SIZE",
	"Request Size Bytes":                   "REQUEST_SIZE",
	"Response Size Bytes":                  "RESPONSE_SIZE",
	"Initial Burst Requests":               "BURST_SIZE",
	"Transaction Rate Tran/s":              "TRANSACTION_RATE",
	"Round Trip Latency usec/tran":         "RT_LATENCY",
	"Mean Latency Microseconds":            "MEAN_LATENCY",
	"Maximum Latency Microseconds":         "MAX_LATENCY",
	"50th Percentile Latency Microseconds": "P50_LATENCY",
	"90th Percentile Latency Microseconds": "P90_LATENCY",
	"99th Percentile Latency Microseconds": "P99_LATENCY",
	"Local Service Demand":                 "LOCAL_SD",
	"Remote Service Demand":                "REMOTE_SD",
	"Service Demand Units":                 "SD_UNITS",
	"Local Transport Retransmissions":      "LOCAL_TRANSPORT_RETRANS",
	"Remote Transport Retransmissions":     "REMOTE_TRANSPORT_RETRANS",
	"Local Send Calls":                     "LOCAL_SEND_CALLS",
	"Remote Recv Calls":                    "REMOTE_RECV_CALLS",
	"Transport MSS bytes":                  "TRANSPORT_MSS",
	"Confidence Iterations Run":            "CONFIDENCE_ITERATION",
	"Local Congestion Control Algorithm":   "LOCAL_CONG_CONTROL",
	"Command Line":                         "COMMAND_LINE",
}
