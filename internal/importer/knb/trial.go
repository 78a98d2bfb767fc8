package knb

import (
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// trials returns a trial for each test, in the order in which knb runs them.
func (r *report) trials() []importer.Trial {
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
		trial := importer.Trial{Cell: t.cell, Kind: "network", Start: r.start(), Facts: r.facts()}
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
			at = append(at, r.at-side.readings[0].at+1) // each interval lasts one second
			cpu, memory = append(cpu, r.cpu), append(memory, r.memory*(1<<20))
		}
		trial.Series = append(trial.Series,
			importer.Series{Name: "node-cpu-" + side.name, Unit: "%", Seconds: at, Values: cpu},
			importer.Series{Name: "node-memory-" + side.name, Unit: "B", Seconds: at, Values: memory})
	}
}

// add adds a value in a base unit, unless the value is missing.
func add(trial *importer.Trial, m experiment.Metric, v *float64, unit float64) {
	if v != nil && trial.Broken == "" && *v >= 0 {
		trial.AddFit(m, *v*unit)
	}
}

// start returns the time when knb began, which is the only time in the result.
func (r *report) start() time.Time {
	at, err := time.Parse(time.DateTime, r.Metadata.Date)
	if err != nil {
		return time.Time{}
	}
	return at
}

func (r *report) facts() map[string]string {
	return map[string]string{
		"knb version":        r.Metadata.Version,
		"server node":        r.Metadata.ServerNode,
		"client node":        r.Metadata.ClientNode,
		"udp buffer":         r.Metadata.Buffer,
		"cpu":                r.Data.CPU,
		"kernel":             r.Data.Kernel,
		"kubernetes version": r.Data.Kubernetes,
		"mtu":                r.Data.MTU,
	}
}
