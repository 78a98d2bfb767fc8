// Package clusterloader2 reads the report directory of ClusterLoader2, the load test of Kubernetes, file by
// file: summaries of the type PerfData, resource usage, scheduling throughput, and junit.xml.
//
// A summary's file is called MEASUREMENT_TEST_TIME.json. Measurement and test, with the labels of an item, name
// the cell: "PodStartupLatency_..._load.pod_startup". Each run adds one trial to it. The quantiles are
// ClusterLoader2's; Prometheus computes some of them from buckets. The 99th percentile is the headline if an
// objective of Kubernetes limits it, as for pod startup and network programming. API calls have too many cells
// for headlines: they have none unless the user chooses some.
//
// junit.xml contains the duration of each test. A failed test is invalid in junit.xml only. ClusterLoader2 also
// fails a test if a latency was high, and to drop measurements because of their values would make the rest look
// good.
//
// Summaries of other types are ignored.
package clusterloader2

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"tare/internal/importer"
)

// Format reads files of ClusterLoader2's report directory.
var Format = importer.Format{
	Name:       "clusterloader2",
	Doc:        "ClusterLoader2's report directory: PerfData summaries, resource usage, scheduling throughput and junit.xml",
	Extensions: []string{".json", ".xml"},
	Read:       read,
}

func read(f importer.File) ([]importer.Trial, error) {
	data, err := importer.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimLeft(data, " \t\r\n\ufeff")
	switch {
	case len(text) == 0:
		return nil, errors.New("the file is empty")
	case text[0] == '<':
		return readJUnit(text)
	}
	return readSummary(f.Name, text)
}

// origin holds the parts of a summary's file name.
type origin struct {
	name  string // the measurement and the test
	start time.Time
}

// stamp matches the time at the end of a name. Some systems replace its colons.
var stamp = regexp.MustCompile(`_(\d{4}-\d\d-\d\dT\d\d)[:_-](\d\d)[:_-](\d\d)(Z|[+-]\d\d[:_-]?\d\d)$`)

// originOf splits a file name into its parts. A name that does not end with a time is the user's own, and is
// not split.
func originOf(name string) origin {
	base := strings.TrimSuffix(path.Base(strings.ReplaceAll(name, `\`, "/")), ".json")
	o := origin{name: base}
	if m := stamp.FindStringSubmatch(base); m != nil {
		o.name = strings.TrimSuffix(base, m[0])
		zone := m[4]
		if n := len(zone); n > 1 {
			zone = zone[:3] + ":" + zone[n-2:]
		}
		if t, err := time.Parse(time.RFC3339, m[1]+":"+m[2]+":"+m[3]+zone); err == nil {
			o.start = t
		}
	}
	if o.name == "" {
		o.name = "summary"
	}
	return o
}
