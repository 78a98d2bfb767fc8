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
	var p parser
	var trials []importer.Trial
	for {
		p.fields, err = in.Read()
		switch {
		case errors.Is(err, io.EOF) && len(trials) == 0:
			return nil, errors.New("the table has no rows")
		case errors.Is(err, io.EOF):
			return trials, nil
		case err != nil:
			return nil, err
		}
		line, _ := in.FieldPos(0)
		if p.at == nil {
			p.at, err = places(titles, len(p.fields))
		}
		var t importer.Trial
		if err == nil {
			t, err = p.trial()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		trials = append(trials, t)
	}
}

// places finds the columns, once the number of values in a row is known. In 2024,
// versions wrote a burst behind the message size without a title for it.
func places(titles []string, values int) (map[string]int, error) {
	if at := slices.Index(titles, "Message Size"); values == len(titles)+1 && !slices.Contains(titles, "Burst") {
		titles = slices.Insert(titles, at+1, "Burst")
	}
	at := map[string]int{}
	for i, title := range titles {
		if _, ok := at[title]; ok {
			return nil, fmt.Errorf("the column %q comes twice", title)
		}
		at[title] = i
	}
	return at, nil
}

// parser reads the values of a row by the titles of their columns, and keeps the
// first error. A column that is not there has no value.
type parser struct {
	at     map[string]int // of the columns; each has a title
	fields []string
	err    error
}

func (p *parser) trial() (importer.Trial, error) {
	if len(p.fields) != len(p.at) {
		return importer.Trial{}, fmt.Errorf("there are %d values where %d are needed: is the file truncated?", len(p.fields), len(p.at))
	}
	d := document{
		Driver: p.text("Driver"), Profile: p.text("Profile"), TputMetric: p.text("Throughput Metric"),
		Local: p.flag("Same node"), HostNetwork: p.flag("Host Network"), Service: p.flag("Service"),
		Parallelism: p.count("Parallelism"), MessageSize: p.count("Message Size"), Burst: p.count("Burst"),
		Samples: p.count("# of Samples"), Duration: p.count("Duration"), LtcyMetric: p.text("Latency Metric"), about: map[string]string{},
	}
	throughput := p.number("Avg Throughput")
	d.Throughput = &throughput
	if d.LtcyMetric == microseconds {
		d.Latency = p.number("99%tile Observed Latency")
	}
	for title, name := range about {
		if v := p.text(title); v != "false" {
			d.about[name] = v
		}
	}
	if p.err != nil {
		return importer.Trial{}, p.err
	}
	return d.trial()
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
