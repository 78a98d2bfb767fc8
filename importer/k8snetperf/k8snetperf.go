// Package k8snetperf reads the results of k8s-netperf: the file result-N.csv, and
// what it prints with --json, which tells losses, retransmissions and the CPU time
// of the nodes as well.
//
// Each row is a trial in the cell of its driver, profile, node placement, network,
// service, parallelism, message size and burst. What is set for a whole run, such
// as a secondary network or virtual machines, is a fact: it may be what tells the
// arms apart.
//
// A row is not a measurement but the mean of several samples, often three, which
// k8s-netperf does not write down one by one. Its confidence interval is about
// these samples, within one deployment, and is not used: how much results vary from
// run to run, only several files tell. The latency of a row is even a mean of
// 99th percentiles, and is named so.
package k8snetperf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/experiment"
	"tare/experiment/factor"
	"tare/importer"
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
		return readCSV(data)
	}
	return readJSON(data)
}

// row is one result, of either form.
type row struct {
	driver, profile          string
	sameNode, host, service  bool
	parallelism, message     int
	burst, samples, duration int // duration of a sample, s
	throughput               float64
	unit                     string
	latency                  float64 // mean of the samples' 99th percentiles, µs; 0: not told
	loss, retransmits        *float64
	clientBusy, serverBusy   *float64 // share of the node's CPU time, %
	start                    time.Time
	facts                    map[string]string
}

// units are those of the throughput, and by what to multiply to get base units.
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

// trial makes the trial of a row.
func (r *row) trial() (importer.Trial, error) {
	if r.driver == "" || r.profile == "" {
		return importer.Trial{}, errors.New("the driver or the profile is missing")
	}
	u, ok := units[strings.TrimSpace(r.unit)]
	if !ok {
		return importer.Trial{}, fmt.Errorf("the unit of the throughput is %q, which is none of k8s-netperf's", r.unit)
	}
	t := importer.Trial{Kind: "network", Levels: r.levels(), Cell: r.cell(), Start: r.start, Facts: r.facts}
	if t.Facts == nil {
		t.Facts = map[string]string{}
	}
	if r.samples > 1 {
		t.Facts["samples averaged in a row"] = strconv.Itoa(r.samples)
	}
	if r.duration > 0 && r.duration < 1e6 && r.samples > 0 && r.samples < 1e3 {
		t.Wall = time.Duration(r.duration*r.samples) * time.Second
	}
	if math.IsInf(r.throughput*u.factor, 0) {
		return importer.Trial{}, fmt.Errorf("the throughput is %g %s", r.throughput, r.unit)
	}
	t.Add(importer.Ratio(u.metric, u.unit, experiment.Higher, true), r.throughput*u.factor)
	t.AddFit(importer.Ratio("latency-p99-mean", "s", experiment.Lower, false), r.latency/1e6)
	for _, v := range []struct {
		name   string
		value  *float64
		factor float64
	}{{"loss", r.loss, 0.01}, {"retransmits", r.retransmits, 1}, {"cpu-client-node", r.clientBusy, 0.01}, {"cpu-server-node", r.serverBusy, 0.01}} {
		if v.value != nil {
			t.AddFit(importer.Difference(v.name), *v.value*v.factor)
		}
	}
	return t, nil
}

// cell names the row's cell: "netperf.tcp-rr.message=1024.parallelism=1.host-network".
func (r *row) cell() string {
	name := fmt.Sprintf("%s.%s.message=%d.parallelism=%d", r.driver, strings.ReplaceAll(strings.ToLower(r.profile), "_", "-"), r.message, r.parallelism)
	for _, option := range []struct {
		on   bool
		name string
	}{{r.burst > 0, "burst=" + strconv.Itoa(r.burst)}, {r.host, "host-network"}, {r.service, "service"}, {r.sameNode, "same-node"}} {
		if option.on {
			name += "." + option.name
		}
	}
	return name
}

func (r *row) levels() []factor.Level {
	return []factor.Level{
		{Factor: "driver", Value: r.driver},
		{Factor: "profile", Value: r.profile},
		{Factor: "same-node", Value: strconv.FormatBool(r.sameNode)},
		{Factor: "host-network", Value: strconv.FormatBool(r.host)},
		{Factor: "service", Value: strconv.FormatBool(r.service)},
		{Factor: "parallelism", Value: strconv.Itoa(r.parallelism)},
		{Factor: "message", Value: strconv.Itoa(r.message)},
		{Factor: "burst", Value: strconv.Itoa(r.burst)},
	}
}
