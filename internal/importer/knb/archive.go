package knb

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/importer"
)

// An archive may be hostile. It is read as a stream into memory, never to disk. An entry of a kind that knb does not
// write is an error.
const (
	mostEntries = 1000    // the largest number of entries; knb writes about 40
	mostFile    = 8 << 20 // the largest size of one entry, in bytes; the log of an hour has 300 kB
)

// endings lists the file name extensions of the entries that are read. Entries whose names are in the map environment
// need no extension.
var endings = []string{".bw", ".log", ".avg", ".metrics"}

var environment = map[string]bool{"env": true, "cpu": true, "kernel": true, "k8s-version": true, "mtu": true}

func readArchive(r io.Reader) (*report, error) {
	files, err := unpack(r)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the archive has no end: the file is truncated")
	case err != nil:
		return nil, fmt.Errorf("the archive: %w", err)
	}
	return assemble(files)
}

func unpack(r io.Reader) (map[string]string, error) {
	packed, err := gzip.NewReader(importer.Bound(r, importer.Limit, "it"))
	if err != nil {
		return nil, err
	}
	unpacked := importer.Bound(packed, importer.Limit, "what it unpacks to")
	entries := tar.NewReader(unpacked)
	files := map[string]string{}
	left := int64(importer.Limit) // bytes of memory left for entries; a sparse entry needs more than the archive stores
	for n := 1; ; n++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, unpacked) // reading to the end makes gzip check its checksum
			return files, err
		}
		if err != nil {
			return nil, err
		}
		if n > mostEntries {
			return nil, fmt.Errorf("it has more than %d entries, the most that are read", mostEntries)
		}
		name, err := plainName(header)
		if err != nil {
			return nil, err
		}
		if !environment[name] && (strings.HasPrefix(name, ".") || !slices.Contains(endings, path.Ext(name))) {
			continue
		}
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("there are two entries %.60q", name)
		}
		content, err := io.ReadAll(importer.Bound(entries, min(mostFile, left), fmt.Sprintf("entry %.60q", name)))
		if err != nil {
			return nil, err
		}
		left -= int64(len(content))
		files[name] = string(content)
	}
}

// plainName checks an entry and returns its name without directories; "" for a directory.
func plainName(h *tar.Header) (string, error) {
	if !filepath.IsLocal(h.Name) || strings.ContainsAny(h.Name, "\\\x00") {
		return "", fmt.Errorf("entry %.60q leads out of the archive", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return path.Base(h.Name), nil
	case tar.TypeDir:
		return "", nil
	}
	return "", fmt.Errorf("entry %.60q is neither a file nor a directory", h.Name)
}

// assemble makes a report from the files of an archive. For each test that ran, the file env names the client's pod;
// names of the test's files begin with this name.
func assemble(files map[string]string) (*report, error) {
	env, ok := files["env"]
	if !ok {
		return nil, errors.New("the archive has no file env: it is not one that knb wrote with -o data")
	}
	settings := map[string]string{} // from lines NAME="value", which knb's shell would execute
	for line := range strings.Lines(env) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[name] = strings.Trim(value, `"'`)
		}
	}
	r := &report{}
	r.Metadata.Generator, r.Metadata.Version, r.Metadata.Date = settings["GENERATOR"], settings["VERSION"], settings["BENCHMARK_DATE"]
	r.Metadata.ServerNode, r.Metadata.ClientNode = settings["SERVER_NODE"], settings["CLIENT_NODE"]
	r.Metadata.Buffer = settings["SOCKET_BUFFER_SIZE"]
	r.Data.CPU, r.Data.Kernel = strings.TrimSpace(files["cpu"]), strings.TrimSpace(files["kernel"])
	r.Data.Kubernetes, r.Data.MTU = strings.TrimSpace(files["k8s-version"]), strings.TrimSpace(files["mtu"])
	for _, t := range []struct {
		setting string
		into    **test
	}{
		{"IDLE_POD_NAME", &r.Data.Idle},
		{"CLIENT_TCP_P2P_POD_NAME", &r.Data.Pod.TCP},
		{"CLIENT_UDP_P2P_POD_NAME", &r.Data.Pod.UDP},
		{"CLIENT_TCP_P2S_POD_NAME", &r.Data.Service.TCP},
		{"CLIENT_UDP_P2S_POD_NAME", &r.Data.Service.UDP},
	} {
		pod := settings[t.setting]
		if pod == "" {
			continue // the test was not requested
		}
		var err error
		if *t.into, err = assembleTest(files, pod); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func assembleTest(files map[string]string, pod string) (*test, error) {
	t := &test{log: parseLog(files[pod+".log"])}
	if text := files[pod+".bw"]; strings.TrimSpace(text) != "" {
		v, err := importer.Number(text)
		if err != nil {
			return nil, fmt.Errorf("%.60q in the archive: %w", pod+".bw", err)
		}
		t.Bandwidth = &v
	}
	for side, into := range map[string]*node{"-client": &t.Client, "-server": &t.Server} {
		if err := into.average(files[pod+side+".avg"]); err != nil {
			return nil, fmt.Errorf("%.60q in the archive: %w", pod+side+".avg", err)
		}
		into.readings = parseReadings(files[pod+side+".metrics"])
	}
	return t, nil
}

// average reads a node's averages over a test: user, nice, system, iowait and steal in percent, and memory in MiB. A
// line of titles comes first.
func (n *node) average(text string) error {
	_, line, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return nil // the node's monitor took no reading during the test
	}
	if len(fields) < 6 {
		return fmt.Errorf("there are %d numbers, and 6 are expected", len(fields))
	}
	numbers, err := parseNumbers(fields[:6])
	if err != nil {
		return err
	}
	n.CPU.Total, n.Memory = new(total(numbers)), &numbers[5]
	return nil
}

// total returns the CPU time of a reading as knb computes it: the rounded sum of all kinds of CPU time, including
// waiting for I/O and stolen time.
func total(numbers []float64) float64 {
	return math.Round(100*(numbers[0]+numbers[1]+numbers[2]+numbers[3]+numbers[4])) / 100
}

// parseReadings reads a node's readings: lines of seven numbers, the last in s since 1970. Lines in another form or out
// of order are skipped.
func parseReadings(text string) []reading {
	var list []reading
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 7 {
			continue
		}
		numbers, err := parseNumbers(fields)
		if err != nil || len(list) > 0 && numbers[6] <= list[len(list)-1].at {
			continue
		}
		list = append(list, reading{at: numbers[6], cpu: total(numbers), memory: numbers[5]})
	}
	return list
}

func parseNumbers(fields []string) ([]float64, error) {
	numbers := make([]float64, len(fields))
	for i, field := range fields {
		var err error
		if numbers[i], err = importer.Number(field); err != nil {
			return nil, err
		}
	}
	return numbers, nil
}

// log holds the numbers in the output of iperf3's client, without the warm-up.
type log struct {
	intervals   []interval
	retransmits *float64 // the number of retransmits, TCP only
	lost        *float64 // the share of lost packets, UDP only
	jitter      *float64 // the jitter, in s, UDP only
	failure     string   // the reason why iperf3 failed
}

type interval struct {
	end         float64 // the end of the interval, in s since the beginning
	rate        float64 // the rate at which the client sent, in bit/s
	retransmits float64 // the number of retransmits, TCP only; -1: unknown
}

// parseLog reads iperf3's text output of one stream:
//
//	[  5]   0.00-1.00   sec  1.94 GBytes  16642 Mbits/sec   15   1023 KBytes
//	[  5]   0.00-3.00   sec  5.62 GBytes  16087 Mbits/sec   45             sender
//	[  5]   0.00-3.00   sec  17.8 GBytes  51059 Mbits/sec  0.001 ms  71182/636116 (11%)  receiver
func parseLog(text string) *log {
	l := &log{}
	for line := range strings.Lines(text) {
		if failure, ok := strings.CutPrefix(line, "iperf3: error - "); ok {
			l.failure = strings.TrimSpace(failure)
		}
		_, rest, ok := strings.Cut(line, "]")
		fields := strings.Fields(rest)
		if !ok || line[0] != '[' || len(fields) < 6 || fields[1] != "sec" {
			continue
		}
		switch fields[len(fields)-1] {
		case "(omitted)":
		case "sender", "receiver":
			l.summary(fields)
		default:
			l.second(fields)
		}
	}
	return l
}

// second reads a log line about one interval. After the rate, TCP lines have retransmits and congestion window, UDP
// lines a number of packets.
func (l *log) second(fields []string) {
	_, end, _ := strings.Cut(fields[0], "-")
	at, errEnd := importer.Number(end)
	rate, errRate := importer.Number(fields[4])
	unit := map[string]float64{"bits/sec": 1, "Kbits/sec": 1e3, "Mbits/sec": 1e6, "Gbits/sec": 1e9}[fields[5]]
	if errEnd != nil || errRate != nil || unit == 0 || len(l.intervals) > 0 && at <= l.intervals[len(l.intervals)-1].end {
		return
	}
	i := interval{end: at, rate: rate * unit, retransmits: -1}
	if len(fields) == 9 {
		if n, err := importer.Number(fields[6]); err == nil {
			i.retransmits = n
		}
	}
	l.intervals = append(l.intervals, i)
}

func (l *log) summary(fields []string) {
	receiver := fields[len(fields)-1] == "receiver"
	switch {
	case len(fields) == 8 && !receiver:
		if n, err := importer.Number(fields[6]); err == nil {
			l.retransmits = &n
		}
	case len(fields) >= 10 && receiver && fields[7] == "ms":
		if ms, err := importer.Number(fields[6]); err == nil {
			l.jitter = new(ms / 1e3)
		}
		n, all, _ := strings.Cut(fields[8], "/")
		lost, errLost := importer.Number(n)
		sent, errSent := importer.Number(all)
		if errLost == nil && errSent == nil && lost >= 0 && sent > 0 && lost <= sent {
			l.lost = new(lost / sent)
		}
	}
}
