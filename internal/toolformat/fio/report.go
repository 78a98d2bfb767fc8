// Package fio reads the JSON of fio 3.x (--output-format=json and json+). The storage workload and the importer make
// trials from this JSON, by different rules.
//
// report.go reads the JSON. job.go computes a job's values and interprets the job's options.
package fio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"tare/internal/toolformat/jsondoc"
)

// Report is the output of one run of fio.
type Report struct {
	Version string    // in fio's form, "fio-3.33"
	End     time.Time // the time when the report was made; zero: unknown
	Options Options   // the options of the [global] section
	Jobs    []Job

	clients bool // set if fio drove servers with --client
}

// Job is one entry of the report. It stands for a job or one of its clones; with group_reporting, it stands for all
// jobs of a group.
type Job struct {
	Name        string   `json:"jobname"`
	Group       float64  `json:"groupid"`   // number of the job's group, whose jobs run at the same time
	JobStart    float64  `json:"job_start"` // the start, in ms since 1970; since fio 3.36
	Error       float64  `json:"error"`     // the errno of the first failure; 0: no failure
	TotalErrors *float64 `json:"total_err"` // the number of failed I/Os; only with continue_on_error
	FirstError  float64  `json:"first_error"`
	Elapsed     float64  `json:"elapsed"`     // seconds since fio's start, at the time of the report
	Runtime     float64  `json:"job_runtime"` // run time in ms, as the sum over all threads; since fio 3.8
	UserCPU     float64  `json:"usr_cpu"`     // CPU time in user mode, in % of one CPU, as the mean over the threads
	SystemCPU   float64  `json:"sys_cpu"`
	Depth       float64  `json:"latency_depth"` // I/O depth of the job, even if the option iodepth is not set
	Options     Options  `json:"job options"`
	Read        *Way     `json:"read"`
	Write       *Way     `json:"write"`
	Trim        *Way     `json:"trim"`
	Mixed       *Way     `json:"mixed"` // all kinds of I/O together; only with unified_rw_reporting
	Sync        *Way     `json:"sync"`  // fsync and similar calls, of which only number and latency are known
}

// Way holds the results for one kind of I/O, which fio calls a data direction.
type Way struct {
	Bytes     float64 `json:"io_bytes"`
	BytesRate float64 `json:"bw_bytes"` // the bandwidth, in bytes per second; since fio 3.2
	KiBRate   float64 `json:"bw"`
	IOPS      float64 `json:"iops"`
	Runtime   float64 `json:"runtime"`   // the run time, in ms
	Total     float64 `json:"total_ios"` // issued I/Os, including failed ones
	Complete  Latency `json:"clat_ns"`   // latency from submission to completion (clat)
	Whole     Latency `json:"lat_ns"`    // latency that includes the time of submission (fio's lat)
}

// Options holds the texts of options by name, as the user wrote them: "bs": "4k".
type Options map[string]string

// Parse reads the report of one run of fio, and ignores text around it, such as warnings. Of the reports of
// --status-interval, it returns the last. Reports of different runs are an error.
func Parse(r io.Reader) (*Report, error) {
	documents := jsondoc.New(r)
	var last *Report
	err := documents.Each(func(d *json.Decoder) error {
		report, err := decode(d)
		switch {
		case err != nil || report == nil:
			return err
		case last != nil && !last.continuedBy(report):
			return documents.Second()
		}
		last = report
		return nil
	})
	if err == nil && last == nil {
		err = errors.New("no report in JSON: fio writes one with --output-format=json or json+, unless it fails before the first job")
	}
	return last, err
}

// continuedBy reports whether a later report can be about this fio run, by job names, starts and elapsed times. Two
// reports of fio's servers always can.
func (r *Report) continuedBy(later *Report) bool {
	const slack = 2 * time.Second // fio writes the elapsed time in whole seconds, so times may differ by rounding
	if r.clients && later.clients {
		return true
	}
	for i := range min(len(r.Jobs), len(later.Jobs)) {
		a, b := &r.Jobs[i], &later.Jobs[i]
		if a.Name != b.Name || a.JobStart > 0 && b.JobStart > 0 && a.JobStart != b.JobStart || b.Elapsed < a.Elapsed {
			return false
		}
		moved := later.began(b).Sub(r.began(a)).Abs()
		if !r.End.IsZero() && !later.End.IsZero() && a.Elapsed > 0 && moved > slack {
			return false
		}
	}
	return true
}

// decode reads one document, job by job, so that memory holds only the fields of Job. For an object that is not fio's,
// it returns nil.
func decode(d *json.Decoder) (*Report, error) {
	open, err := d.Token()
	if err != nil {
		return nil, jsondoc.Explain(err)
	}
	if open != json.Delim('{') {
		return nil, errors.New("the JSON is a list, and not fio's report")
	}
	var r Report
	var stamp, stampMS float64
	members := map[json.Token]any{"fio version": &r.Version, "timestamp": &stamp, "timestamp_ms": &stampMS, "global options": &r.Options}
	ours := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, jsondoc.Explain(err)
		}
		if key == "jobs" || key == "client_stats" { // fio writes client_stats if it drives servers with --client
			ours, r.clients = true, key == "client_stats"
			if r.Jobs, err = decodeJobs(d); err != nil {
				return nil, err
			}
			continue
		}
		into, known := members[key]
		if !known {
			into = &skipped{}
		}
		if err := d.Decode(into); err != nil {
			return nil, jsondoc.Explain(err)
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, jsondoc.Explain(err)
	}
	r.End = jsondoc.Time(cmp.Or(stampMS, stamp*1e3))
	if !ours {
		return nil, nil
	}
	return &r, nil
}

type skipped struct{}

// UnmarshalJSON skips a value of any form.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// mostJobs is the largest number of jobs that are read. fio can run far fewer at once.
const mostJobs = 1 << 16

func decodeJobs(d *json.Decoder) ([]Job, error) {
	open, err := d.Token()
	if err != nil {
		return nil, jsondoc.Explain(err)
	}
	if open != json.Delim('[') {
		return nil, errors.New("the jobs of the report are not a list")
	}
	var jobs []Job
	for d.More() {
		if len(jobs) == mostJobs {
			return nil, fmt.Errorf("more than %d jobs, the most that are read", mostJobs)
		}
		var j Job
		if err := d.Decode(&j); err != nil {
			return nil, fmt.Errorf("job %d: %w", len(jobs)+1, jsondoc.Explain(err))
		}
		jobs = append(jobs, j)
	}
	_, err = d.Token() // the closing bracket
	return jobs, jsondoc.Explain(err)
}

// Latency is the distribution of a latency, in nanoseconds.
type Latency struct {
	Mean        float64 `json:"mean"`
	Count       float64 `json:"N"` // the number of latencies; since fio 3.18
	Percentiles pairs   `json:"percentile"`
	// Bins is the histogram in json+. Each pair is the middle of a bin, in ns, and the number of latencies in it.
	Bins pairs `json:"bins"`
}

// pairs holds the members of a JSON object, in the order of the file. The name and the value of each member are
// numbers.
type pairs []pair

// mostPairs is the largest number of pairs that are read. It is a little more than the size of fio's histogram
// (FIO_IO_U_PLAT_NR).
const mostPairs = 1 << 12

type pair struct{ Key, Value float64 }

// UnmarshalJSON reads the pairs of a JSON object in their order, which a map would lose. Pairs are by far the longest
// part of fio's json+.
func (p *pairs) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	inner, ok := bytes.CutPrefix(data, []byte("{"))
	if !ok {
		return fmt.Errorf("%.40q is not an object of numbers", data)
	}
	inner = bytes.TrimSpace(inner[:len(inner)-1]) // the JSON decoder has checked that the text ends with a brace
	n := bytes.Count(inner, []byte(":"))
	if n > mostPairs {
		return fmt.Errorf("%d bins, and fio has at most %d", n, mostPairs)
	}
	*p = make(pairs, 0, n)
	for len(inner) > 0 {
		member, rest, _ := bytes.Cut(inner, []byte(","))
		inner = rest
		key, value, _ := strings.Cut(string(member), ":")
		k, errKey := strconv.ParseFloat(strings.Trim(key, " \t\r\n\""), 64)
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || errKey != nil {
			return fmt.Errorf("%.40q is not a number by number", member)
		}
		*p = append(*p, pair{k, v})
	}
	return nil
}

// Samples returns the number of measured latencies; 0: unknown.
func (l *Latency) Samples() float64 {
	if l.Count > 0 || len(l.Bins) == 0 {
		return l.Count
	}
	total := 0.0
	for _, b := range l.Bins {
		total += b.Value
	}
	return total
}

// Quantile returns a percentile, such as 99.9, in ns: fio's number, or else the middle of its bin, as fio computes it.
// ok is false if it is unknown.
func (l *Latency) Quantile(percent float64) (ns float64, ok bool) {
	for _, p := range l.Percentiles {
		if p.Key == percent {
			return p.Value, p.Value > 0
		}
	}
	total, reached := l.Samples(), 0.0
	for _, b := range l.Bins {
		if reached += b.Value; reached >= percent/100*total {
			return b.Key, b.Key > 0
		}
	}
	return 0, false
}

// binBits is the precision of fio's histogram: the bits of a latency kept after the first set bit (FIO_IO_U_PLAT_BITS
// in stat.h of fio 3.x).
const binBits = 6

// BinBounds returns the bounds, in ns, of the histogram's bin with this middle. Below 128 ns, each value has a bin;
// above, each power of two has 64.
func BinBounds(middle float64) (lower, upper float64) {
	ns := uint64(middle)
	lost := max(bits.Len64(ns)-1-binBits, 0)
	lower = float64(ns >> lost << lost)
	return lower, lower + float64(uint64(1)<<lost)
}

// Known reports whether the report has percentiles or a histogram of the latency.
func (l *Latency) Known() bool { return len(l.Percentiles) > 0 || len(l.Bins) > 0 }
