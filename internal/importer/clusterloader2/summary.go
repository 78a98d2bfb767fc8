package clusterloader2

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
)

// summary holds the content of a PerfData file or of a summary on scheduling throughput.
type summary struct {
	DataItems *[]item `json:"dataItems"` // only in PerfData

	// These fields describe the pods scheduled per second, in intervals of some seconds. A summary from Prometheus
	// holds only Max.
	Perc50 *float64 `json:"perc50"`
	Perc90 *float64 `json:"perc90"`
	Perc99 *float64 `json:"perc99"`
	Max    *float64 `json:"max"`
}

// item is one item of ClusterLoader2's PerfData: values by bucket, such as "Perc99", all in one unit.
type item struct {
	Data   map[string]float64 `json:"data"`
	Unit   string             `json:"unit"`
	Labels map[string]string  `json:"labels"`
}

func readSummary(name string, text []byte) ([]importer.Trial, error) {
	from := trialOf(name)
	var s summary
	switch err := json.Unmarshal(text, &s); {
	case err == nil && s.DataItems != nil:
		return readItems(from, *s.DataItems)
	case err == nil && s.Max != nil:
		return []importer.Trial{scheduling(from, &s)}, nil
	}
	var usage map[string][]container
	err := json.Unmarshal(text, &usage)
	var syntax *json.SyntaxError
	switch {
	case err == nil && isUsage(usage):
		return readUsage(from, usage), nil
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(text)), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the JSON document has no end: the file is truncated")
	case errors.As(err, &syntax):
		return nil, err
	case strings.Contains(string(text[:min(len(text), 1<<16)]), `"dataItems"`):
		return nil, errors.New("it looks like PerfData, but its dataItems are not a list of data, unit and labels")
	}
	return nil, fmt.Errorf("%w: neither PerfData nor resource usage nor scheduling throughput", importer.ErrNoResult)
}

func readItems(from importer.Trial, items []item) ([]importer.Trial, error) {
	var trials []importer.Trial
	for i := range items {
		if t := items[i].trial(from); len(t.Values) > 0 {
			trials = append(trials, t)
		}
	}
	switch {
	case len(items) == 0:
		return nil, fmt.Errorf("%w: the summary has no items", importer.ErrNoResult)
	case len(trials) == 0:
		return nil, fmt.Errorf("%w: no item has a value other than 0 whose better direction is known", importer.ErrNoResult)
	}
	return trials, nil
}

// trial makes the trial of an item. If all quantiles are 0, nothing was measured, and the trial has no values.
func (i *item) trial(t importer.Trial) importer.Trial {
	for _, label := range i.labelNames() {
		value := namespace.ReplaceAllString(i.Labels[label], "test-$1")
		t.Levels = append(t.Levels, factor.Level{Factor: strings.ToLower(label), Value: value})
		switch label {
		case "Metric", "Verb", "Resource", "Subresource":
			t.Cell += "." + value
		default:
			t.Cell += "." + strings.ToLower(label) + "=" + value
		}
	}
	for _, bucket := range slices.Sorted(maps.Keys(i.Data)) {
		if m, factor, ok := i.metric(bucket); ok {
			t.AddFit(m, i.Data[bucket]*factor)
		}
	}
	if slow, err := strconv.ParseUint(i.Labels["SlowCount"], 10, 32); err == nil && len(t.Values) > 0 {
		t.Add(importer.Difference("slow-calls"), float64(slow))
	}
	return t
}

// labelNames returns the labels that name a cell. It leaves out labels with a count. The labels of an API call come
// first, in a fixed order.
func (i *item) labelNames() []string {
	labels := []string{"Metric", "Verb", "Resource", "Subresource", "Scope"}
	for _, label := range slices.Sorted(maps.Keys(i.Labels)) {
		if label != "" && label != "Count" && label != "SlowCount" && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return slices.DeleteFunc(labels, func(label string) bool { return i.Labels[label] == "" })
}

// units maps ClusterLoader2's units to base units and better directions. Values in other units are not read, since
// their better direction is unknown.
var units = map[string]struct {
	unit   string
	factor float64
	better experiment.Better
}{
	"ns":         {"s", 1e-9, experiment.Lower},
	"us":         {"s", 1e-6, experiment.Lower},
	"ms":         {"s", 1e-3, experiment.Lower},
	"s":          {"s", 1, experiment.Lower},
	"seconds":    {"s", 1, experiment.Lower},
	"B":          {"B", 1, experiment.Lower},
	"bytes":      {"B", 1, experiment.Lower},
	"MB":         {"B", 1 << 20, experiment.Lower}, // a MB of ClusterLoader2 has 1 << 20 bytes
	"GB":         {"B", 1 << 30, experiment.Lower},
	"kbytes/sec": {"kbytes/sec", 1, experiment.Higher},
	"pps":        {"1/s", 1, experiment.Higher},
}

// objectives lists values of the label Metric. An objective of Kubernetes limits their 99th percentile, which is
// therefore a headline.
var objectives = []string{"pod_startup", "NetworkProgrammingLatency", "claim_allocation"}

func (i *item) metric(bucket string) (m experiment.Metric, factor float64, ok bool) {
	u, ok := units[i.Unit]
	if !ok || bucket == "" {
		return m, 0, false
	}
	m = importer.Ratio(bucket, u.unit, u.better, bucket == "Perc99" && slices.Contains(objectives, i.Labels["Metric"]))
	if quantile, ok := strings.CutPrefix(bucket, "Perc"); ok && quantile != "" {
		m.Name = "p" + strings.TrimPrefix(quantile, "0")
	}
	return m, u.factor, true
}

func scheduling(t importer.Trial, s *summary) importer.Trial {
	for _, v := range []struct {
		name  string
		value *float64
	}{{"throughput-max", s.Max}, {"throughput-p50", s.Perc50}, {"throughput-p90", s.Perc90}, {"throughput-p99", s.Perc99}} {
		headline := v.value == s.Max
		if v.value != nil && (*v.value > 0 || headline) {
			t.Add(importer.Ratio(v.name, "1/s", experiment.Higher, headline), *v.value)
		}
	}
	return t
}

// container is a container's usage of CPU and memory, at one percentile over the run's samples.
type container struct {
	Name string  // the name, as POD/CONTAINER
	CPU  float64 // the CPU usage, in CPUs
	Mem  float64 // the working set, in bytes
}

// isUsage reports whether a file is a ResourceUsageSummary, which lists containers by percentile.
func isUsage(usage map[string][]container) bool {
	for key, containers := range usage {
		if _, err := strconv.ParseUint(key, 10, 8); err != nil || len(containers) == 0 || containers[0].Name == "" {
			return false
		}
	}
	return len(usage) > 0
}

// memory is the prefix of the names of memory metrics. A percentile follows.
const memory = "memory-p"

// readUsage returns a trial for each container, with the largest usage. Pods that differ only in generated parts of
// their names count as one.
func readUsage(from importer.Trial, usage map[string][]container) []importer.Trial {
	largest := map[string]map[string]float64{} // the largest usage, by container and metric
	for _, key := range slices.Sorted(maps.Keys(usage)) {
		for _, c := range usage[key] {
			name := stable(c.Name)
			if largest[name] == nil {
				largest[name] = map[string]float64{}
			}
			for metric, v := range map[string]float64{"cpu-p" + key: c.CPU, memory + key: c.Mem} {
				largest[name][metric] = max(largest[name][metric], v)
			}
		}
	}
	var trials []importer.Trial
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		t := from
		t.Cell += "." + name
		for _, metric := range slices.Sorted(maps.Keys(largest[name])) {
			unit := ""
			if strings.HasPrefix(metric, memory) {
				unit = "B"
			}
			t.AddFit(importer.Ratio(metric, unit, experiment.Lower, false), largest[name][metric])
		}
		if len(t.Values) > 0 {
			trials = append(trials, t)
		}
	}
	return trials
}

// stable removes the parts of a pod's name that differ from run to run: "coredns-6d4b75cb6d-x8w2p/coredns" becomes
// "coredns/coredns".
func stable(name string) string {
	pod, container, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	parts := strings.Split(pod, "-")
	if i := slices.IndexFunc(parts[1:], madeUp); i >= 0 {
		parts = parts[:i+1]
	}
	return strings.Join(parts, "-") + "/" + container
}

// madeUp reports whether a part of a pod's name looks generated: from four characters without vowels, or from five with
// a letter after a digit (node names).
func madeUp(part string) bool {
	return len(part) >= 4 && !strings.ContainsAny(part, "aeiouy") ||
		len(part) >= 5 && mixed.MatchString(part) && !version.MatchString(part)
}

var (
	mixed   = regexp.MustCompile(`[0-9].*[a-z]`)
	version = regexp.MustCompile(`^v[0-9]+(alpha|beta)[0-9]+$`)
)

// namespace matches a namespace that ClusterLoader2 has created for a run: a random part, then a number.
var namespace = regexp.MustCompile(`^test-[a-z0-9]{6}-([0-9]+)$`)
