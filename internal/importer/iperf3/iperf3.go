// Package iperf3 makes trials of the JSON of iperf3, versions 3.1 to 3.21: the output of -J on the client or the
// server, and the events of --json-stream.
//
// A test is a trial. Protocol, direction and number of streams name its cell. A server's file may hold several tests: a
// number is added to equal names of cells. Bandwidth is the received payload, without the warm-up (-O).
package iperf3

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
	"tare/internal/toolformat/iperf3"
	"tare/internal/toolformat/jsondoc"
)

// Format reads iperf3's JSON.
var Format = importer.Format{
	Name:       "iperf3",
	Doc:        "iperf3's JSON (-J or --json-stream), of the client or the server",
	Extensions: []string{".json", ".jsonl", ".txt", ".log", ".out"},
	Settings: []importer.Setting{
		{Name: "bitrate", Default: "none"}, {Name: "duration", Default: "default"}, {Name: "bytes", Default: "none"}, {Name: "blocks", Default: "none"},
		{Name: "omit", Default: "0 s"}, {Name: "block", Default: "default"}, {Name: "buffer", Default: "default"}, {Name: "set-mss", Default: "none"},
	},
	Read: read,
}

type test struct{ *iperf3.Report }

func read(f importer.File) ([]importer.Trial, error) {
	cells := map[string]int{}
	reports, err := iperf3.Tests(importer.Bound(f, importer.Limit, "the file"))
	if err != nil {
		return nil, err
	}
	trials := make([]importer.Trial, len(reports))
	for i, r := range reports {
		t := test{r}
		trial, err := t.trial()
		if err != nil {
			return nil, err
		}
		cells[trial.Cell]++
		if n := cells[trial.Cell]; n > 1 {
			trial.Cell += "-" + strconv.Itoa(n) // the number makes the name unique: no cell's own name ends with a dash and a number
		}
		trials[i] = trial
	}
	return trials, nil
}

// The directions, from the client's point of view, with the names that Tare's network workload uses.
const (
	upload   = "upload"
	download = "download"
	both     = "both"
)

func (t *test) trial() (importer.Trial, error) {
	protocol := strings.ToLower(t.Start.TestStart.Protocol)
	if !slices.Contains([]string{"TCP", "UDP", "SCTP"}, t.Start.TestStart.Protocol) {
		return importer.Trial{}, fmt.Errorf("the protocol %.20q is not one of iperf3's", t.Start.TestStart.Protocol)
	}
	direction, streams := upload, whole(t.Start.TestStart.Streams)
	switch {
	case t.both():
		direction = both
	case t.Start.TestStart.Reverse != 0:
		direction = download
	}
	trial := importer.Trial{
		Cell:   protocol,
		Kind:   "network",
		Levels: []factor.Level{{Factor: "protocol", Value: protocol}, {Factor: "direction", Value: direction}, {Factor: "streams", Value: streams}},
		Start:  jsondoc.Time(max(t.Start.Timestamp.Milliseconds, t.Start.Timestamp.Seconds*1e3)),
		Facts:  t.facts(),
		Series: t.series(),
	}
	if direction != upload {
		trial.Cell += "-" + direction
	}
	if streams != "1" {
		trial.Cell += "-" + streams + "-streams"
	}
	if t.Error != "" {
		trial.Broken = "iperf3 reports: " + t.Error
		return trial, nil
	}
	t.measure(&trial, protocol)
	if len(trial.Values) == 0 || !trial.Values[0].Metric.Headline {
		trial.Broken = "the report has no bandwidth at its end: nothing was received"
		trial.Values = nil
	}
	return trial, nil
}

func (t *test) measure(trial *importer.Trial, protocol string) {
	add := func(name, unit string, better experiment.Better, v float64) {
		trial.AddFit(importer.Ratio(protocol+"-"+name, unit, better, name == "bandwidth"), v)
	}
	ways := t.ways()
	var all way
	var received, retransmits float64
	counted := false
	for _, w := range ways {
		all.received = all.received.and(w.received)
		received += w.received.rate()
		if w.retransmits != nil && *w.retransmits >= 0 { // -1 means that the system does not count retransmits
			retransmits, counted = retransmits+*w.retransmits, true
		}
		all.lost = max(all.lost, w.lost)
		all.jitter += w.jitter / float64(len(ways))
	}
	trial.Wall = importer.Seconds(all.received.seconds).Round(time.Millisecond)
	add("bandwidth", "bit/s", experiment.Higher, received)
	if len(ways) == 2 {
		for _, w := range ways {
			name := "bandwidth-" + download
			if w.sends == (t.Start.Accepted == nil) {
				name = "bandwidth-" + upload
			}
			add(name, "bit/s", experiment.Higher, w.received.rate())
		}
	}
	if t.UDP() {
		trial.AddFit(importer.Difference(protocol+"-loss"), all.lost)
		add("jitter", "s", experiment.Lower, all.jitter)
	} else if counted {
		trial.AddFit(importer.Difference(protocol+"-retransmits"), retransmits)
	}
	add("rtt", "s", experiment.Lower, t.rtt())
	client, server := t.cpu()
	gigabits := all.received.bytes * 8 / 1e9
	add("cpu-client", "s/Gbit", experiment.Lower, client*all.received.seconds/gigabits)
	add("cpu-server", "s/Gbit", experiment.Lower, server*all.received.seconds/gigabits)
}

// rtt returns the round-trip time in s: the mean over the streams that this side sends; 0: unknown. Only the kernel of
// a sender measures it.
func (t *test) rtt() float64 {
	sum, n := 0.0, 0.0
	for _, s := range t.End.Streams {
		if s.Sender == nil || s.Sender.MeanRTT == nil || !s.Sender.Sender && (t.both() || !t.sends()) {
			continue
		}
		if rtt := *s.Sender.MeanRTT / 1e6; rtt > 0 {
			sum, n = sum+rtt, n+1
		}
	}
	return sum / max(1, n)
}

// cpu returns the CPUs that the processes of client and server kept busy, such as 1.5; 0: unknown.
func (t *test) cpu() (client, server float64) {
	if t.End.CPU == nil {
		return 0, 0
	}
	host, remote := t.End.CPU.Host/100, t.End.CPU.Remote/100
	if t.Start.Accepted != nil {
		return remote, host
	}
	return host, remote
}

func (t *test) facts() map[string]string {
	s := &t.Start
	facts := map[string]string{"iperf3 version": strings.TrimPrefix(s.Version, "iperf "), "congestion": t.End.Congestion, "side": "client"}
	if s.Accepted != nil {
		facts["side"] = "server"
	}
	block := "block"
	if t.UDP() { // in UDP, a block is one packet's payload, sized by the path or by the user
		block = "packet"
	}
	for _, f := range []struct {
		name  string
		value float64
		unit  string
	}{
		{"mss", max(s.MSS, s.MSSDefault), " B"}, {"set-mss", s.MSS, " B"}, {"buffer", s.Buffer, " B"}, {block, s.TestStart.Block, " B"},
		{"bitrate", s.TestStart.Target, " bit/s a stream"}, {"bytes", s.TestStart.Bytes, " B"}, {"blocks", s.TestStart.Blocks, ""},
		{"omit", s.TestStart.Omit, " s"}, {"duration", s.TestStart.Duration, " s"},
	} {
		if f.value > 0 {
			facts[f.name] = whole(f.value) + f.unit
		}
	}
	// SystemInfo is the output of uname -a, such as "Linux host 6.1.0 …". Its third word is the kernel's version.
	if uname := strings.Fields(s.SystemInfo); len(uname) > 2 {
		facts["kernel"] = uname[2]
	}
	return facts
}

func whole(n float64) string { return strconv.FormatFloat(n, 'f', 0, 64) }
