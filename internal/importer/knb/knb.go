// Package knb reads the results of knb 1.5, the Kubernetes network benchmark of k8s-bench-suite: its JSON and YAML, and
// its archive of raw data (-o data).
//
// A file holds up to five tests, each a cell: pod to pod and pod to service, over TCP and UDP, and both nodes idle. knb
// runs them one after the other. Bandwidth is in whole Mbit/s. CPU and memory are means over the test, for a complete
// node. The archive adds iperf3's output and a reading of the node every second: retransmits, loss, jitter and series.
package knb

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
	"tare/internal/toolformat/jsondoc"
)

// Format reads results of knb.
var Format = importer.Format{
	Name:       "knb",
	Doc:        "results of knb 1.5 in JSON, YAML and as an archive (-o json, yaml, data)",
	Extensions: []string{".json", ".yaml", ".yml", ".knbdata", ".tgz", ".gz"},
	Settings:   []importer.Setting{{Name: "udp buffer", Default: "default"}},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	r, err := open(f)
	if err != nil {
		return nil, err
	}
	trials := r.trials()
	if len(trials) == 0 {
		err = errors.New("there is no test in the result: is it of knb, and not of another tool?")
	}
	return trials, err
}

// mostText is the largest size of a result in JSON or YAML, in bytes. A result usually has about 3 kB.
const mostText = 1 << 20

var gzipMagic = []byte{0x1f, 0x8b}

func open(f importer.File) (*report, error) {
	in := bufio.NewReader(f)
	if start, _ := in.Peek(len(gzipMagic)); bytes.Equal(start, gzipMagic) {
		return readArchive(in)
	}
	text, err := io.ReadAll(importer.Bound(in, mostText, "the file"))
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the file is empty")
	}
	at := 0
	for line := range bytes.Lines(text) { // knb's own messages may precede the result
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			return readJSON(text[at:])
		case begins(line):
			return readYAML(text[at:])
		}
		at += len(line)
	}
	return nil, errors.New("no result of knb: it writes those that can be imported with -o json, yaml or data")
}

// report is a result of knb. Its numbers are pointers, since a test that failed has no value, which is not 0.
type report struct {
	Metadata struct {
		Generator  string `json:"generator"`
		Version    string `json:"version"`
		Date       string `json:"date"` // in UTC, such as "2020-08-22 19:46:20"
		ServerNode string `json:"server-node"`
		ClientNode string `json:"client-node"`
		Buffer     string `json:"socket-buffer-size"` // the buffer size of UDP sockets
	} `json:"metadata"`
	Data struct {
		CPU        string `json:"cpu"` // CPU, Kernel, Kubernetes and MTU describe the server's node
		Kernel     string `json:"kernel"`
		Kubernetes string `json:"k8s-version"`
		MTU        string `json:"mtu"`
		Idle       *test  `json:"idle"`
		Pod        tests  `json:"pod2pod"`
		Service    tests  `json:"pod2svc"`
	} `json:"data"`
}

type tests struct {
	TCP *test `json:"tcp"`
	UDP *test `json:"udp"`
}

type test struct {
	Bandwidth *float64 `json:"bandwidth"` // the received payload, in Mbit/s
	Client    node     `json:"client"`
	Server    node     `json:"server"`
	log       *log     // iperf3's output; only in the archive
}

// node holds the load of one of the cluster's nodes during a test.
type node struct {
	CPU struct {
		Total *float64 `json:"total"` // the CPU time, in % of all CPUs of the node
	} `json:"cpu"`
	Memory   *float64  `json:"ram"` // used memory of the node, in MiB
	readings []reading // readings of CPU and memory, about one a second; only archives have them
}

type reading struct {
	at          float64 // the time of the reading, in s since 1970
	cpu, memory float64 // CPU time in %, and used memory in MiB
}

// knb's JSON has two defects. A missing value leaves an empty place. If only the idle test ran, there is a comma too
// many.
var (
	noValue   = regexp.MustCompile(`(":[ \t]*)(,|\r?\n)`)
	lastComma = regexp.MustCompile(`,(\s*\})`)
)

// readJSON reads a result in valid JSON, or in JSON with knb's defects.
func readJSON(text []byte) (*report, error) {
	r, err := decode(text)
	if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
		mended := noValue.ReplaceAll(text, []byte(`${1}null${2}`))
		if again, errAgain := decode(lastComma.ReplaceAll(mended, []byte(`$1`))); errAgain == nil {
			return again, nil
		}
	}
	if err != nil {
		return nil, jsondoc.Explain(err)
	}
	return r, nil
}

// decode reads the first document of the text, and ignores text after the document.
func decode(text []byte) (*report, error) {
	var r report
	return &r, json.NewDecoder(bytes.NewReader(text)).Decode(&r)
}

// readYAML reads a result in knb's YAML. Messages after the result are ignored if they begin in the first column.
func readYAML(text []byte) (*report, error) {
	end := 0
	for line := range bytes.Lines(text) {
		if !bytes.ContainsAny(line[:1], " #\r\n") && !begins(line) {
			break
		}
		end += len(line)
	}
	if bytes.ContainsRune(text[:end], '&') {
		return nil, errors.New("the YAML has an anchor (&), and knb writes none") // an anchor would let a short text stand for a huge document
	}
	var values map[string]any
	err := yaml.UnmarshalStrict(text[:end], &values)
	if err == nil {
		text, err = json.Marshal(values)
	}
	if err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", err)
	}
	return readJSON(text)
}

// begins reports whether a line begins one of the two parts of a result, metadata or data.
func begins(line []byte) bool {
	word := string(bytes.TrimRight(line, " \t\r\n"))
	return word == "metadata:" || word == "data:"
}

func (r *report) trials() []importer.Trial {
	start, _ := time.Parse(time.DateTime, r.Metadata.Date) // start of knb, since a result has no other time; zero if it is missing
	var list []importer.Trial
	for _, t := range []struct {
		cell, path, protocol string
		*test
	}{
		{"idle", "", "", r.Data.Idle},
		{"pod2pod-tcp", "pod-to-pod", "tcp", r.Data.Pod.TCP},
		{"pod2pod-udp", "pod-to-pod", "udp", r.Data.Pod.UDP},
		{"pod2svc-tcp", "pod-to-service", "tcp", r.Data.Service.TCP},
		{"pod2svc-udp", "pod-to-service", "udp", r.Data.Service.UDP},
	} {
		if t.test == nil {
			continue
		}
		trial := importer.Trial{Cell: t.cell, Kind: "network", Start: start, Facts: map[string]string{
			"knb version": r.Metadata.Version, "server node": r.Metadata.ServerNode, "client node": r.Metadata.ClientNode,
			"udp buffer": r.Metadata.Buffer, "cpu": r.Data.CPU, "kernel": r.Data.Kernel, "kubernetes version": r.Data.Kubernetes, "mtu": r.Data.MTU,
		}}
		if t.protocol != "" {
			trial.Levels = []factor.Level{{Factor: "path", Value: t.path}, {Factor: "protocol", Value: t.protocol}}
			t.network(&trial, t.protocol)
		}
		t.nodes(&trial)
		if t.protocol == "" && len(trial.Values) == 0 {
			trial.Broken = "knb's monitors gave no reading"
		}
		list = append(list, trial)
	}
	return list
}

func (t *test) network(trial *importer.Trial, protocol string) {
	switch {
	case t.log != nil && t.log.failure != "":
		trial.Broken = "iperf3 reports: " + t.log.failure
	case t.Bandwidth == nil:
		trial.Broken = "knb has no bandwidth of this test: its iperf3 failed"
	case *t.Bandwidth <= 0:
		trial.Broken = "nothing was received"
	default:
		add(trial, importer.Ratio(protocol+"-bandwidth", "bit/s", experiment.Higher, true), t.Bandwidth, 1e6)
	}
	if t.log == nil {
		return
	}
	add(trial, importer.Difference("tcp-retransmits"), t.log.retransmits, 1)
	add(trial, importer.Difference("udp-loss"), t.log.lost, 1)
	add(trial, importer.Ratio("udp-jitter", "s", experiment.Lower, false), t.log.jitter, 1)
	t.log.series(trial)
}

func (l *log) series(trial *importer.Trial) {
	var ends, rates, retransmits []float64
	for _, i := range l.intervals {
		ends, rates = append(ends, i.end), append(rates, i.rate)
		if i.retransmits >= 0 {
			retransmits = append(retransmits, i.retransmits)
		}
	}
	if len(ends) == 0 {
		return
	}
	trial.Wall = importer.Seconds(ends[len(ends)-1]).Round(10 * time.Millisecond)
	trial.Series = append(trial.Series, importer.Series{Name: "bandwidth", Unit: "bit/s", Seconds: ends, Values: rates})
	if len(retransmits) == len(ends) {
		trial.Series = append(trial.Series, importer.Series{Name: "retransmits", Seconds: ends, Values: retransmits})
	}
}

func (t *test) nodes(trial *importer.Trial) {
	for _, side := range []struct {
		name string
		*node
	}{{"client", &t.Client}, {"server", &t.Server}} {
		add(trial, importer.Ratio("node-cpu-"+side.name, "%", experiment.Lower, false), side.CPU.Total, 1)
		add(trial, importer.Ratio("node-memory-"+side.name, "B", experiment.Lower, false), side.Memory, 1<<20)
		if len(side.readings) == 0 {
			continue
		}
		var at, cpu, memory []float64
		for _, r := range side.readings {
			at = append(at, r.at-side.readings[0].at+1) // a reading covers the second that ends with it, so the first reading is at second 1
			cpu, memory = append(cpu, r.cpu), append(memory, r.memory*(1<<20))
		}
		trial.Series = append(trial.Series,
			importer.Series{Name: "node-cpu-" + side.name, Unit: "%", Seconds: at, Values: cpu},
			importer.Series{Name: "node-memory-" + side.name, Unit: "B", Seconds: at, Values: memory})
	}
}

// add adds a value, multiplied by the factor unit, to a valid trial. It adds no value that is missing or negative.
func add(trial *importer.Trial, m experiment.Metric, v *float64, unit float64) {
	if v != nil && trial.Broken == "" && *v >= 0 {
		trial.AddFit(m, *v*unit)
	}
}
