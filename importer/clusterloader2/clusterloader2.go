// Package clusterloader2 reads the report directory of ClusterLoader2, the load
// test of Kubernetes, file by file: summaries in the form PerfData, usage of
// resources, scheduling throughput, and junit.xml.
//
// A summary's file is called MEASUREMENT_TEST_TIME.json; measurement and test,
// with the labels of an item, name the cell: "PodStartupLatency_..._load.pod_startup".
// Each run adds one trial to it. Quantiles are ClusterLoader2's, in part taken from
// buckets by Prometheus; the 99th percentile is the headline where it is what an
// objective of Kubernetes is about, of pod startup and network programming for
// instance. Calls of the API have too many cells for that: there are no headlines
// among them unless the import is asked for some.
//
// junit.xml gives the duration of each test. A test that failed is broken there and
// only there: ClusterLoader2 also fails a test because a latency was high, and to
// take away measurements because of their values would make the rest look good.
//
// Summaries of other forms are passed over.
package clusterloader2

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strings"
	"time"

	"tare/importer"
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

// origin is what a summary's file name tells.
type origin struct {
	name  string // measurement and test
	start time.Time
}

// stamp is the time at the end of a name; some systems take no colons.
var stamp = regexp.MustCompile(`_(\d{4}-\d\d-\d\dT\d\d)[:_-](\d\d)[:_-](\d\d)(Z|[+-]\d\d[:_-]?\d\d)$`)

// originOf takes a file name apart. Without a time at its end it is not one of
// ClusterLoader2's, but what the user has made of it, and is taken as it is.
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
