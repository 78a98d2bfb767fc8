package clusterloader2

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/importer"
)

// container is the usage of one container at a percentile of the run's samples.
type container struct {
	Name string  `json:"Name"` // POD/CONTAINER
	CPU  float64 `json:"CPU"`  // in CPUs
	Mem  float64 `json:"Mem"`  // the working set, in bytes
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

// readUsage returns a trial for each container. The pods of a set are merged: of their containers, the one with
// the largest usage counts, as in ClusterLoader2's own charts.
func readUsage(from origin, usage map[string][]container) []importer.Trial {
	type quantity struct{ name, unit string }
	largest := map[string]map[quantity]float64{} // by container
	for _, key := range slices.Sorted(maps.Keys(usage)) {
		for _, c := range usage[key] {
			name := stable(c.Name)
			if largest[name] == nil {
				largest[name] = map[quantity]float64{}
			}
			for q, v := range map[quantity]float64{{"cpu-p" + key, ""}: c.CPU, {"memory-p" + key, "B"}: c.Mem} {
				largest[name][q] = max(largest[name][q], v)
			}
		}
	}
	var trials []importer.Trial
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		t := importer.Trial{Kind: "kubernetes", Cell: from.name + "." + name, Start: from.start}
		quantities := slices.SortedFunc(maps.Keys(largest[name]), func(a, b quantity) int { return strings.Compare(a.name, b.name) })
		for _, q := range quantities {
			t.AddFit(importer.Ratio(q.name, q.unit, experiment.Lower, false), largest[name][q])
		}
		if len(t.Values) > 0 {
			trials = append(trials, t)
		}
	}
	return trials
}

// stable removes the generated parts of a pod's name, which differ in every run or cluster:
// "coredns-6d4b75cb6d-x8w2p/coredns" becomes "coredns/coredns".
func stable(name string) string {
	pod, container, ok := strings.Cut(name, "/")
	if !ok {
		return name
	}
	parts := strings.Split(pod, "-")
	for i, part := range parts {
		if i > 0 && madeUp(part) {
			parts = parts[:i]
			break
		}
	}
	return strings.Join(parts, "-") + "/" + container
}

// madeUp reports whether a part of a name is generated. Kubernetes generates parts of four or more letters
// without vowels. Clouds generate names of nodes, which the names of static pods contain: parts of five or more
// characters in which letters follow digits.
func madeUp(part string) bool {
	return len(part) >= 4 && !strings.ContainsAny(part, "aeiouy") ||
		len(part) >= 5 && mixed.MatchString(part) && !version.MatchString(part)
}

var (
	mixed   = regexp.MustCompile(`[0-9].*[a-z]`)
	version = regexp.MustCompile(`^v[0-9]+(alpha|beta)[0-9]+$`)
)

// namespace matches a namespace that ClusterLoader2 creates for a run, with a random part in its name.
var namespace = regexp.MustCompile(`^test-[a-z0-9]{6}-([0-9]+)$`)
