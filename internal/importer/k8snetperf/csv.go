package k8snetperf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/importer"
	"tare/internal/importer/delimited"
	"tare/internal/importer/table"
)

// required are the columns without which no row can be read.
var required = []string{"Driver", "Profile", "Host Network", "Service", "Parallelism", "Message Size", "Avg Throughput", "Throughput Metric"}

// about are the columns with properties of a whole run.
var about = map[string]string{
	"VM mode": "virtual machines", "External Server": "external server", "UDN Info": "user-defined network",
	"Bridge Info": "bridge", "SR-IOV Info": "SR-IOV", "Macvlan Info": "macvlan", "Localnet Info": "localnet",
}

// readCSV reads result-N.csv. It finds columns by their titles, since versions differ in them.
func readCSV(f importer.File, text []byte) (trials []importer.Trial, err error) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	comma := []byte(",")
	if bytes.Count(first, comma) == bytes.Count(head, comma)+1 && !bytes.Contains(head, []byte("Burst")) {
		// Some versions of 2024 write a burst after the message size without a title for it.
		head = bytes.Replace(head, []byte("Message Size"), []byte("Message Size,Burst"), 1)
	}
	f.Size = int64(len(text))
	f.Reader = io.MultiReader(bytes.NewReader(head), strings.NewReader("\n"), bytes.NewReader(rest))
	in, err := delimited.Text(f)
	if err != nil {
		return nil, err
	}
	lines, err := delimited.Open(in, func(string) bool { return true }, "")
	if err != nil {
		return nil, err
	}
	if title := lines.Titles[0]; title == "Role" || title == "Type" {
		return nil, fmt.Errorf("%w: result-N.csv holds the throughput; use --json to have losses, retransmissions and CPU time with it", importer.ErrNoResult)
	}
	for _, title := range required {
		if !slices.Contains(lines.Titles, title) {
			return nil, fmt.Errorf("the first line has no column %q: is it k8s-netperf's result-N.csv?", title)
		}
	}
	row, err := table.NewRow(lines, func(title string) (string, error) { return title, nil })
	if err != nil {
		return nil, err
	}
	err = row.Each(func(r *table.Row) error {
		t, err := rowTrial(r)
		if err != nil {
			r.Fail("", "%s", err)
		}
		trials = append(trials, t)
		return r.Err
	})
	if err == nil && trials == nil {
		err = errors.New("the table has no rows")
	}
	return trials, err
}

// rowTrial makes the trial of a row. A missing column has no value.
func rowTrial(r *table.Row) (importer.Trial, error) {
	throughput := number(r, "Avg Throughput")
	d := document{
		Driver: r.Field("Driver"), Profile: r.Field("Profile"), TputMetric: r.Field("Throughput Metric"), Throughput: &throughput,
		Local: r.Yes("Same node", false), HostNetwork: r.Yes("Host Network", false), Service: r.Yes("Service", false),
		Parallelism: r.Count("Parallelism", "streams", 0), MessageSize: r.Count("Message Size", "bytes", 0), Burst: r.Count("Burst", "requests", 0),
		Samples: r.Count("# of Samples", "samples", 0), Duration: r.Count("Duration", "seconds", 0), LtcyMetric: r.Field("Latency Metric"), about: map[string]string{},
	}
	if d.LtcyMetric == microseconds {
		d.Latency = number(r, "99%tile Observed Latency")
	}
	for title, name := range about {
		if v := r.Field(title); v != "false" {
			d.about[name] = v
		}
	}
	return d.trial()
}

func number(r *table.Row, title string) float64 {
	text := r.Field(title)
	if text == "" || strings.EqualFold(text, "NaN") { // no sample measured the value
		return 0
	}
	v, err := r.Number(text)
	if err != nil {
		r.Fail(title, "%s", err)
	}
	return v
}
