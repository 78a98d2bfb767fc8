// Package k8snetperf reads the results of k8s-netperf: the file result-N.csv and the output of --json. The JSON
// contains losses, retransmissions and the CPU time of the nodes beside the values of the CSV.
//
// Each row is a trial. Driver, profile, node placement, network, service, parallelism, message size and burst name its
// cell. Properties of a complete run, such as a secondary network, are facts, since arms may differ in them.
//
// A row is the mean of several samples, often three, which k8s-netperf does not print. The confidence interval in a row
// is about these samples only, and is not used. The latency in a row is the mean of the samples' 99th percentiles, and
// its metric is named accordingly.
package k8snetperf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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
	"tare/internal/importer/table"
	"tare/internal/toolformat/jsondoc"
)

// Format reads k8s-netperf's CSV and JSON.
var Format = importer.Format{
	Name:       "k8s-netperf",
	Doc:        "k8s-netperf's result-N.csv, or what it prints with --json; each row is a trial",
	Extensions: []string{".csv", ".json", ".txt", ".log"},
	Read:       importer.Whole(read),
}

func read(f importer.File, data []byte) ([]importer.Trial, error) {
	if head, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n")); bytes.Contains(head, []byte(",")) && !bytes.ContainsAny(head, "{[") {
		trials, err := readCSV(f, data)
		if m := epoch.FindStringSubmatch(path.Base(filepath.ToSlash(f.Name))); m != nil {
			seconds, _ := strconv.ParseInt(m[1], 10, 64) // the pattern admits only digits
			for i := range trials {
				trials[i].Start = time.Unix(seconds, 0).UTC()
			}
		}
		return trials, err
	}
	return readJSON(data)
}

// epoch matches the name result-N.csv, where N is the time at which the tool wrote the file, in seconds since 1970.
var epoch = regexp.MustCompile(`^result-([0-9]{9,10})\.csv$`)

// units maps the units of the throughput to metrics and base units.
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
	u, ok := units[strings.TrimSpace(d.TputMetric)]
	switch {
	case d.Throughput == nil:
		return importer.Trial{}, errors.New("throughput is missing")
	case d.Driver == "" || d.Profile == "":
		return importer.Trial{}, errors.New("the driver or the profile is missing")
	case !ok:
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
		measured bool // set if the profile measures the value; if it does not, the tool writes 0
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
		{Factor: "driver", Value: d.Driver}, {Factor: "profile", Value: d.Profile}, {Factor: "same-node", Value: strconv.FormatBool(d.Local)},
		{Factor: "host-network", Value: strconv.FormatBool(d.HostNetwork)}, {Factor: "service", Value: strconv.FormatBool(d.Service)},
		{Factor: "parallelism", Value: strconv.Itoa(d.Parallelism)}, {Factor: "message", Value: strconv.Itoa(d.MessageSize)},
		{Factor: "burst", Value: strconv.Itoa(d.Burst)},
	}
}

var required = []string{"Driver", "Profile", "Host Network", "Service", "Parallelism", "Message Size", "Avg Throughput", "Throughput Metric"}

// about maps columns of the CSV file to names of facts. These columns describe the complete run, not one row.
var about = map[string]string{
	"VM mode": "virtual machines", "External Server": "external server", "UDN Info": "user-defined network",
	"Bridge Info": "bridge", "SR-IOV Info": "SR-IOV", "Macvlan Info": "macvlan", "Localnet Info": "localnet",
}

// readCSV reads result-N.csv. It finds columns by their titles, since the columns depend on the version.
func readCSV(f importer.File, text []byte) (trials []importer.Trial, err error) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	comma := []byte(",")
	if bytes.Count(first, comma) == bytes.Count(head, comma)+1 && !bytes.Contains(head, []byte("Burst")) {
		// In some versions of 2024, rows have a burst after the message size, but the header lacks its title.
		head = bytes.Replace(head, []byte("Message Size"), []byte("Message Size,Burst"), 1)
	}
	f.Size = int64(len(text))
	f.Reader = io.MultiReader(bytes.NewReader(head), strings.NewReader("\n"), bytes.NewReader(rest))
	row, err := table.Open(f)
	if err != nil {
		return nil, err
	}
	if title := row.Names[0]; title == "Role" || title == "Type" {
		return nil, fmt.Errorf("%w: result-N.csv holds the throughput; use --json to have losses, retransmissions and CPU time with it", importer.ErrNoResult)
	}
	for _, title := range required {
		if !row.Has(title) {
			return nil, fmt.Errorf("the first line has no column %q: is it k8s-netperf's result-N.csv?", title)
		}
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

// document is one element of the output of --json, or one row of the CSV file.
type document struct {
	Timestamp      time.Time `json:"timestamp"`
	Driver         string    `json:"driver"`
	Profile        string    `json:"profile"`
	HostNetwork    bool      `json:"hostNetwork"`
	Service        bool      `json:"service"`
	Local          bool      `json:"local"`
	Virt           bool      `json:"virt"`
	AcrossAZ       bool      `json:"acrossAZ"`
	ExternalServer bool      `json:"externalServer"`
	Parallelism    int       `json:"parallelism"`
	MessageSize    int       `json:"messageSize"`
	Burst          int       `json:"burst"`
	Samples        int       `json:"samples"`
	Duration       int       `json:"duration"` // the duration of a sample, in s
	Throughput     *float64  `json:"throughput"`
	Latency        float64   `json:"latency"` // the mean of the samples' 99th percentiles; 0: unknown
	TputMetric     string    `json:"tputMetric"`
	LtcyMetric     string    `json:"ltcyMetric"`
	Retransmits    *float64  `json:"tcpRetransmits"`
	Loss           *float64  `json:"udpLossPercent"`
	ClientCPU      node      `json:"clientCPU"`
	ServerCPU      node      `json:"serverCPU"`
	UDN            string    `json:"udnInfo"`
	Bridge         string    `json:"bridgeInfo"`
	SRIOV          string    `json:"sriovInfo"`
	Macvlan        string    `json:"macvlanInfo"`
	Localnet       string    `json:"localnetInfo"`
	ToolVersion    string    `json:"toolVersion"`
	Metadata       struct {
		Kernel   string `json:"kernel"`
		MTU      int    `json:"mtu"`
		Platform string `json:"platform"`
		K8s      string `json:"k8sVersion"`
		SDN      string `json:"sdnType"`
		Workers  string `json:"workerNodesType"`
	} `json:"metadata"`

	about map[string]string // facts from the table's columns
}

// microseconds is the only unit of Latency that is read.
const microseconds = "usec"

// node is the CPU time of a node, in %, by the kind of use. If the tool collected no CPU time, all fields are zero.
type node struct {
	Idle   float64 `json:"idleCPU"`
	User   float64 `json:"userCPU"`
	System float64 `json:"systemCPU"`
	Steal  float64 `json:"stealCPU"`
	Nice   float64 `json:"niceCPU"`
	IRQ    float64 `json:"irqCPU"`
	Soft   float64 `json:"softCPU"`
}

// busy returns the busy share of a node's CPU time: all but idle and waiting. It returns nil if the tool collected no
// CPU time.
func (n node) busy() *float64 {
	sum := n.User + n.System + n.Nice + n.IRQ + n.Soft
	if sum == 0 && n.Idle == 0 {
		return nil
	}
	return &sum
}

// readJSON reads the output of --json. Messages of the tool may stand before and after it.
func readJSON(data []byte) ([]importer.Trial, error) {
	docs, err := jsondoc.First(bytes.NewReader(data), func(list *[]document) bool {
		return len(*list) > 0 && (*list)[0].Driver != "" && (*list)[0].Profile != ""
	}, "no result of k8s-netperf: it writes result-N.csv, and prints JSON with --json")
	if err != nil {
		return nil, err
	}
	trials := make([]importer.Trial, len(*docs))
	for i, d := range *docs {
		if trials[i], err = d.trial(); err != nil {
			return nil, fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	return trials, nil
}

func (d *document) facts() map[string]string {
	facts := map[string]string{
		"k8s-netperf version": d.ToolVersion, "kernel": d.Metadata.Kernel, "platform": d.Metadata.Platform,
		"kubernetes version": d.Metadata.K8s, "network plug-in": d.Metadata.SDN, "instance type": d.Metadata.Workers,
		"user-defined network": d.UDN, "bridge": d.Bridge, "SR-IOV": d.SRIOV, "macvlan": d.Macvlan, "localnet": d.Localnet,
	}
	if d.Metadata.MTU > 0 {
		facts["mtu"] = strconv.Itoa(d.Metadata.MTU)
	}
	for name, on := range map[string]bool{"virtual machines": d.Virt, "external server": d.ExternalServer, "across zones": d.AcrossAZ} {
		if on {
			facts[name] = "true"
		}
	}
	maps.Copy(facts, d.about)
	return facts
}
