package labels

import (
	"regexp"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
	"tare/internal/lists"
	"tare/internal/report/wording"
	"tare/internal/text/safetext"
)

// countedWork names the things that a rate counts, by the kind of workload.
var countedWork = map[string]string{"http": "requests", "vault": "requests", "dns": "queries", "churn": "objects", "storage": "operations", "xds": "sidecars"}

// rateUnit returns the unit of a metric as people write it: "requests/s" for "1/s" in http.
func rateUnit(kind, metric, unit string) string {
	work := countedWork[kind]
	if kind == "dns" && strings.HasPrefix(metric, "answers") {
		work = "answers"
	}
	if unit == "1/s" && work != "" {
		return work + "/s"
	}
	return unit
}

// Levels writes the levels of factors: "64 rules", "pod to pod, MTU 1500".
func Levels(kind string, list []factor.Level, separator string) string {
	return safetext.Line(strings.Join(lists.Map(list, func(l factor.Level) string { return level(kind, l) }), separator))
}

var (
	// valueOnly lists factors that are shown by their value alone: "pod to pod" instead of "path pod to pod".
	valueOnly = []string{"path", "protocol", "operation", "test", "cipher", "program", "stressor", "rate"}
	quantity  = regexp.MustCompile(`^([0-9.]+) ?([A-Za-z%][A-Za-z0-9/%]*)$`)
	camel     = regexp.MustCompile(`([a-z])([A-Z])`)
)

func level(kind string, l factor.Level) string {
	layer, name, nested := strings.Cut(l.Factor, ".")
	if !nested {
		layer, name = "", l.Factor
	}
	value := l.Value
	name = acronyms(strings.ToLower(camel.ReplaceAllString(name, "$1 $2")))
	if n, ok := strings.CutSuffix(value, "/s"); ok {
		value = wording.Scale{Div: 1, Label: strings.TrimPrefix(rateUnit(kind, "", "1/s"), "1")}.Labelled(strings.TrimSpace(n))
	} else if m := quantity.FindStringSubmatch(value); m != nil {
		value = m[1] + " " + m[2]
	}
	text := name + " " + value
	switch _, word, _ := strings.Cut(value, " "); {
	case slices.Contains(valueOnly, l.Factor):
		text = acronyms(strings.ReplaceAll(value, "-", " "))
	case name == "block size":
		text = value + " blocks"
	case word == "%":
		text = value + " " + name
	case value == "1" && wording.Singular(name) != name:
		text = "1 " + wording.Singular(name)
	case strings.Trim(value, "0123456789") == "" && strings.HasSuffix(name, "s"):
		text = value + " " + name
	}
	return text + wording.When(layer != "", " of "+layer)
}

// metricLabels are the labels of metrics whose names cannot be turned into words by a rule.
var metricLabels = map[string]string{
	"cpu": "CPU time", "wall-clock": "wall-clock time", "peak-memory": "peak memory",
	"rate-beyond": "rate beyond the capacity", "ready-beyond": "share ready beyond the capacity", "lost": "lost queries", "limited": "limited pushes",
	"operation-cpu": "CPU time per operation", "operation-wall": "wall-clock time per operation", "operation-cpu-mean": "mean CPU time per operation",
	"ready-last": "time until the last is ready", "push-last": "time until the last push", "server-memory-ready": "memory of the server when ready",
	"server-memory-peak": "peak memory of the server", "server-heap-ready": "heap of the server when ready", "server-heap-push": "heap of the server at the push",
	"pod-created": "time until the pod is created", "pod-scheduled": "time until the pod is scheduled", "pod-started": "time until the pod is started", "pod-ready": "time until the pod is ready",
	"tcp-rtt": "TCP round-trip time",
}

// ownMetrics lists the kinds of workloads whose metrics are named by Tare.
var ownMetrics = []string{"network", "http", "vault", "dns", "xds", "churn", "startup", "storage", "syscalls"}

var moments = map[string]string{"p50": "median", "mean": "mean", "max": "maximum", "min": "minimum", "last": "last"}

var percentile = regexp.MustCompile(`^p[0-9.]+$`)

// Metric returns the label of a metric of a kind of workload: "median latency" for latency-p50. Users' names of metrics
// of command stay, unless they begin with run-cpu or run-memory.
func Metric(kind, name string) string {
	name = safetext.Line(name)
	if label, ok := metricLabels[name]; ok && kind != "" {
		return label
	}
	if cost := strings.HasPrefix(name, "run-cpu") || strings.HasPrefix(name, "run-memory"); !slices.Contains(ownMetrics, kind) && !(kind == "command" && cost) {
		return name
	}
	parts := strings.Split(name, "-")
	last := parts[len(parts)-1]
	moment := moments[last]
	if percentile.MatchString(last) && moment == "" {
		moment = last
	}
	switch resource := slices.IndexFunc(parts, func(s string) bool { return s == "cpu" || s == "memory" }); {
	case moment != "" && len(parts) > 1:
		rest := strings.Join(parts[:len(parts)-1], " ")
		switch {
		case kind == "storage" && !strings.Contains(rest, "latency"):
			rest += " latency"
		case rest == "ready" || rest == "start" || rest == "push":
			rest += " time"
		}
		return acronyms(moment + " " + rest)
	case resource == 0 && len(parts) > 1:
		return acronyms(parts[0]) + " of " + strings.Join(parts[1:], "-")
	case resource > 0 && work[parts[resource-1]] != "":
		return resourceWords(parts[:resource], parts[resource], strings.Join(parts[resource+1:], "-"))
	case name == "rate" && countedWork[kind] != "":
		return strings.TrimSuffix(countedWork[kind], "s") + " rate"
	}
	return acronyms(strings.Join(parts, " "))
}

// work names the unit of work that follows "CPU time per", such as "request". A key is the part of a metric's name
// before "cpu".
var work = map[string]string{"tcp": "Gbit", "udp": "Gbit", "read": "GB", "write": "GB",
	"request": "request", "query": "query", "start": "start", "sidecar": "sidecar", "run": "run"}

// resourceWords returns the words for memory, or for CPU time per unit of work. program is the program's name; "": all
// programs.
func resourceWords(of []string, resource, program string) string {
	text, last := "memory", of[len(of)-1]
	if resource == "cpu" {
		text = "CPU time per " + work[last]
	}
	if work[last] != last { // a unit such as Gbit does not say which work, so the work is added: "TCP CPU time per Gbit"
		text = strings.Join(of, " ") + " " + text
	}
	text += wording.When(program != "", ", "+program)
	return acronyms(text)
}

func acronyms(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		switch w {
		case "tcp", "udp", "rtt", "iops", "cpu", "mtu", "ttl", "dns", "tls", "aaaa", "a", "nxdomain":
			words[i] = strings.ToUpper(w)
		}
	}
	return strings.Join(words, " ")
}
