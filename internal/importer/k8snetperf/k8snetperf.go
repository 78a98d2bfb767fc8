// Package k8snetperf reads the results of k8s-netperf: the file result-N.csv, and the output of --json, which
// also contains losses, retransmissions and the CPU time of the nodes.
//
// Each row is a trial. Its cell is named by driver, profile, node placement, network, service, parallelism,
// message size and burst. Properties of a whole run, such as a secondary network or virtual machines, are
// facts, since arms may differ in them.
//
// A row is the mean of several samples, often three, which k8s-netperf does not print one by one. Its
// confidence interval describes these samples, within one deployment, and is not used: only several files show
// how much results vary from run to run. The latency of a row is a mean of 99th percentiles, and is named
// accordingly.
package k8snetperf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// Format reads k8s-netperf's CSV and JSON.
var Format = importer.Format{
	Name:       "k8s-netperf",
	Doc:        "k8s-netperf's result-N.csv, or what it prints with --json; each row is a trial",
	Extensions: []string{".csv", ".json", ".txt", ".log"},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	data, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
	if head, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n")); bytes.Contains(head, []byte(",")) && !bytes.ContainsAny(head, "{[") {
		trials, err := readCSV(f, data)
		for i := range trials {
			trials[i].Start = written(f.Name)
		}
		return trials, err
	}
	return readJSON(data)
}

// epoch matches the time in the name result-N.csv, in seconds since 1970. The file was written then.
var epoch = regexp.MustCompile(`^result-([0-9]{9,10})\.csv$`)

// written returns the time in the name of a table; zero if there is none.
func written(name string) time.Time {
	m := epoch.FindStringSubmatch(path.Base(filepath.ToSlash(name)))
	if m == nil {
		return time.Time{}
	}
	seconds, _ := strconv.ParseInt(m[1], 10, 64) // the pattern admits only digits
	return time.Unix(seconds, 0).UTC()
}

// units are the units of the throughput, and their factors to base units.
var units = map[string]struct {
	metric string
	unit   string
	factor float64
}{
	"Mb/s":       {"bandwidth", "bit/s", 1e6},
	"10^6bits/s": {"bandwidth", "bit/s", 1e6},
	"MiB/s":      {"bandwidth", "bit/s", 8 << 20},
	"OP/s":       {"throughput", "1/s", 1},
	"Trans/s":    {"throughput", "1/s", 1},
}

func (d *document) trial() (importer.Trial, error) {
	if d.Throughput == nil {
		return importer.Trial{}, errors.New("throughput is missing")
	}
	if d.Driver == "" || d.Profile == "" {
		return importer.Trial{}, errors.New("the driver or the profile is missing")
	}
	u, ok := units[strings.TrimSpace(d.TputMetric)]
	if !ok {
		return importer.Trial{}, fmt.Errorf("the unit of the throughput is %q, which is none of k8s-netperf's", d.TputMetric)
	}
	t := importer.Trial{Kind: "network", Levels: d.levels(), Cell: d.cell(), Start: d.Timestamp, Facts: d.facts()}
	if d.Samples > 1 {
		t.Facts["samples averaged in a row"] = strconv.Itoa(d.Samples)
	}
	if d.Duration > 0 && d.Duration < 1e6 && d.Samples > 0 && d.Samples < 1e3 {
		t.Wall = time.Duration(d.Duration*d.Samples) * time.Second
	}
	throughput := *d.Throughput * u.factor
	if math.IsInf(throughput, 0) {
		return importer.Trial{}, fmt.Errorf("the throughput is %g %s", *d.Throughput, d.TputMetric)
	}
	t.Add(importer.Ratio(u.metric, u.unit, experiment.Higher, true), throughput)
	if d.LtcyMetric == microseconds {
		t.AddFit(importer.Ratio("latency-p99-mean", "s", experiment.Lower, false), d.Latency/1e6)
	}
	tcp, udp := d.Profile == "TCP_STREAM" || d.Profile == "TCP_STREAM_LAT", d.Profile == "UDP_STREAM"
	for _, v := range []struct {
		name     string
		value    *float64
		factor   float64
		measured bool // set if the profile measures the value; of loss and retransmits, the tool writes the one not measured as 0
	}{
		{"loss", d.Loss, 0.01, udp}, {"retransmits", d.Retransmits, 1, tcp},
		{"cpu-client-node", d.ClientCPU.busy(), 0.01, true}, {"cpu-server-node", d.ServerCPU.busy(), 0.01, true},
	} {
		if v.value != nil && v.measured {
			t.AddFit(importer.Difference(v.name), *v.value*v.factor)
		}
	}
	return t, nil
}

// cell names the result's cell: "netperf.tcp-rr.message=1024.parallelism=1.host-network".
func (d *document) cell() string {
	name := fmt.Sprintf("%s.%s.message=%d.parallelism=%d", d.Driver, strings.ReplaceAll(strings.ToLower(d.Profile), "_", "-"), d.MessageSize, d.Parallelism)
	for _, option := range []struct {
		on   bool
		name string
	}{{d.Burst > 0, "burst=" + strconv.Itoa(d.Burst)}, {d.HostNetwork, "host-network"}, {d.Service, "service"}, {d.Local, "same-node"}} {
		if option.on {
			name += "." + option.name
		}
	}
	return name
}

func (d *document) levels() []factor.Level {
	return []factor.Level{
		{Factor: "driver", Value: d.Driver},
		{Factor: "profile", Value: d.Profile},
		{Factor: "same-node", Value: strconv.FormatBool(d.Local)},
		{Factor: "host-network", Value: strconv.FormatBool(d.HostNetwork)},
		{Factor: "service", Value: strconv.FormatBool(d.Service)},
		{Factor: "parallelism", Value: strconv.Itoa(d.Parallelism)},
		{Factor: "message", Value: strconv.Itoa(d.MessageSize)},
		{Factor: "burst", Value: strconv.Itoa(d.Burst)},
	}
}
