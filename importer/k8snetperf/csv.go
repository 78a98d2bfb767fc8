package k8snetperf

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tare/importer"
)

// required are the columns without which no row can be understood.
var required = []string{"Driver", "Profile", "Host Network", "Service", "Parallelism", "Message Size", "Avg Throughput", "Throughput Metric"}

// about are the columns of what is set for a whole run.
var about = map[string]string{
	"VM mode": "virtual machines", "External Server": "external server", "UDN Info": "user-defined network",
	"Bridge Info": "bridge", "SR-IOV Info": "SR-IOV", "Macvlan Info": "macvlan", "Localnet Info": "localnet",
}

// readCSV reads result-N.csv. Versions differ in their columns, which are found by
// their titles.
func readCSV(data []byte) ([]importer.Trial, error) {
	in := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	in.FieldsPerRecord = -1
	titles, err := in.Read()
	if err != nil {
		return nil, err
	}
	for i := range titles {
		titles[i] = strings.TrimSpace(titles[i])
	}
	if titles[0] == "Role" || titles[0] == "Type" {
		return nil, fmt.Errorf("%w: result-N.csv holds the throughput; use --json to have losses, retransmissions and CPU time with it", importer.ErrBeside)
	}
	for _, title := range required {
		if !slices.Contains(titles, title) {
			return nil, fmt.Errorf("the first line has no column %q: is it k8s-netperf's result-N.csv?", title)
		}
	}
	columns := table{titles: titles}
	var trials []importer.Trial
	for {
		fields, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && len(trials) == 0:
			return nil, errors.New("the table has no rows")
		case errors.Is(err, io.EOF):
			return trials, nil
		case err != nil:
			return nil, err
		}
		line, _ := in.FieldPos(0)
		r, err := columns.row(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		t, err := r.trial()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		trials = append(trials, t)
	}
}

// table reads rows below their titles.
type table struct {
	titles []string
	at     map[string]int // places of the titles, once the first row has been seen
	width  int            // of a row
}

// place finds the columns. In 2024, versions wrote a burst behind the message size
// without a title for it.
func (t *table) place(width int) error {
	titles := t.titles
	if at := slices.Index(titles, "Message Size"); width == len(titles)+1 && !slices.Contains(titles, "Burst") {
		titles = slices.Insert(slices.Clone(titles), at+1, "Burst")
	}
	t.width, t.at = len(titles), map[string]int{}
	for i, title := range titles {
		if _, ok := t.at[title]; ok {
			return fmt.Errorf("the column %q comes twice", title)
		}
		t.at[title] = i
	}
	return nil
}

func (t *table) row(fields []string) (*row, error) {
	if t.at == nil {
		if err := t.place(len(fields)); err != nil {
			return nil, err
		}
	}
	if len(fields) != t.width {
		return nil, fmt.Errorf("there are %d values where %d are needed: is the file truncated?", len(fields), t.width)
	}
	p := parser{t, fields, nil}
	r := &row{
		driver: p.text("Driver"), profile: p.text("Profile"), unit: p.text("Throughput Metric"),
		sameNode: p.flag("Same node"), host: p.flag("Host Network"), service: p.flag("Service"),
		parallelism: p.count("Parallelism"), message: p.count("Message Size"), burst: p.count("Burst"),
		samples: p.count("# of Samples"), duration: p.count("Duration"),
		throughput: p.number("Avg Throughput"),
		facts:      map[string]string{},
	}
	if unit := p.text("Latency Metric"); unit == "usec" {
		r.latency = p.number("99%tile Observed Latency")
	}
	for title, name := range about {
		if v := p.text(title); v != "false" {
			r.facts[name] = v
		}
	}
	return r, p.err
}

// parser reads the values of a row by the titles of their columns, and keeps the
// first error. A column that is not there has no value.
type parser struct {
	*table
	fields []string
	err    error
}

func (p *parser) text(title string) string {
	at, ok := p.at[title]
	if !ok {
		return ""
	}
	return strings.TrimSpace(p.fields[at])
}

func (p *parser) fail(title, kind string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s is %q, not %s", title, p.text(title), kind)
	}
}

func (p *parser) flag(title string) bool {
	v, err := strconv.ParseBool(p.text(title))
	if err != nil && p.text(title) != "" {
		p.fail(title, "true or false")
	}
	return v
}

func (p *parser) count(title string) int {
	v, err := strconv.Atoi(p.text(title))
	if p.text(title) != "" && (err != nil || v < 0) {
		p.fail(title, "a whole number")
	}
	return v
}

func (p *parser) number(title string) float64 {
	text := p.text(title)
	if text == "" || strings.EqualFold(text, "NaN") { // no sample told it
		return 0
	}
	v, err := importer.Number(text)
	if err != nil {
		p.fail(title, "a number")
	}
	return v
}
