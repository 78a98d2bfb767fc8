// Package knb reads the results of knb 1.5, the Kubernetes network benchmark of k8s-bench-suite: its JSON and
// YAML, and its archive of raw data (-o data).
//
// A file holds up to five tests, each a cell: pod to pod and pod to service, over TCP and UDP, and both nodes
// idle. knb runs them in that order, one after the other. Bandwidth is in whole Mbit/s, as knb takes it from
// iperf3. CPU and memory are means over the test of the whole node, not of iperf3. The archive also holds
// iperf3's output and the readings of each second, from which come retransmits, loss, jitter and series.
//
// report.go defines the result. text.go reads it from JSON and YAML, archive.go and log.go from the archive;
// trial.go makes trials of it.
package knb

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"tare/internal/importer"
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
		return nil, errors.New("there is no test in the result: is it of knb, and not of another tool?")
	}
	return trials, nil
}

// mostText is the largest size of a result in JSON or YAML, in bytes. A result usually has about 3 kB.
const mostText = 1 << 20

var gzipMagic = []byte{0x1f, 0x8b}

// open recognises the form of a file by its content, and reads it.
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
