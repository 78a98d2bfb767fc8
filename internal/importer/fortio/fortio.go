// Package fortio reads the results of Fortio, the load generator of Istio, written with -json or -a.
//
// A file holds one run. Protocol, requested rate, connections and the path of HTTP requests name its cell.
//
// The headline depends on the load. With -qps set, requests are sent at a fixed rate, and latency is the headline. A
// run that did not reach 95 % of the requested rate is invalid. With -qps 0 ("max") the connections form a closed loop:
// throughput is the headline, and latency restates it.
//
// Fortio counts latencies in buckets (of 1 ms and more, unless -r sets another resolution), and interpolates
// percentiles within them. On loopback, Fortio prints a median of 0.51 ms although the exact mean is 0.13 ms. The
// headline is therefore the mean latency. A percentile is left out, and named in the facts, if its bucket is wider than
// a quarter of the percentile. Latency counts from the time when a request was sent, not when it was due.
package fortio

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/importer"
	"tare/internal/toolformat/jsondoc"
)

// Format reads Fortio's JSON.
var Format = importer.Format{
	Name:       "fortio",
	Doc:        "Fortio's JSON (-json or -a) of HTTP, gRPC, TCP and UDP runs, with or without its messages before it",
	Extensions: []string{".json"},
	Settings:   []importer.Setting{{Name: "run type", Default: "default"}, {Name: "http version", Default: "default"}, {Name: "pacing", Default: "even"}},
	Read:       read,
}

// reached is the share of the requested rate below which a run is invalid, since it measured another load.
const reached = 0.95

// result holds the fields of a result file that are used. Times are in ns, latencies in s.
type result struct {
	RunType                 string
	Labels                  string
	StartTime               time.Time
	RequestedQPS            string // "max", or a number
	ActualQPS               *float64
	ActualDuration          int64
	NumThreads              int
	Version                 string
	DurationHistogram       *histogram
	ErrorsDurationHistogram *histogram
	RetCodes                map[string]int64
	Sizes                   *histogram
	SocketCount             *int64
	URL, Destination        string
	Uniform, NoCatchUp      bool
	Jitter                  bool
	H2, HTTP10              bool
	Resolution              float64 // the width of the first buckets, in s
	// Error, Message and Exception are set if the run failed to start.
	Error     bool   `json:"error"`
	Message   string `json:"message"`
	Exception string `json:"exception"`
}

func read(f importer.File) ([]importer.Trial, error) {
	// log messages in JSON may come before the result
	r, err := jsondoc.First(importer.Bound(f, importer.Limit, "the file"), func(r *result) bool { return r.RunType != "" },
		"no result of Fortio: it writes one with -json or -a")
	if err != nil {
		return nil, err
	}
	t, err := r.trial()
	return []importer.Trial{t}, err
}

func (r *result) trial() (importer.Trial, error) {
	if r.DurationHistogram == nil || r.ActualQPS == nil {
		return importer.Trial{}, errors.New("DurationHistogram or ActualQPS is missing")
	}
	rate, err := r.rate()
	if err != nil {
		return importer.Trial{}, err
	}
	t := importer.Trial{Kind: "network", Start: r.StartTime, Wall: time.Duration(max(0, r.ActualDuration)), Facts: r.facts()}
	kind := r.protocol()
	if kind == "http" {
		t.Kind = kind
	}
	t.Levels = []factor.Level{{Factor: "qps", Value: r.RequestedQPS}, {Factor: "connections", Value: strconv.Itoa(r.NumThreads)}}
	if u, err := url.Parse(r.URL); err == nil && kind == "http" && u.RequestURI() != "/" {
		t.Levels = append(t.Levels, factor.Level{Factor: "path", Value: u.RequestURI()})
	}
	t.Cell = kind
	for _, l := range t.Levels {
		t.Cell += "." + l.String()
	}
	if t.Errors, err = r.errors(kind); err != nil {
		return importer.Trial{}, err
	}
	switch h := r.DurationHistogram; {
	case r.Error:
		t.Broken = "Fortio reports that the run failed: " + strings.TrimSpace(r.Message+" "+r.Exception)
		return t, nil
	case h.Count <= 0:
		t.Broken = "no request was made"
		return t, nil
	case rate > 0 && *r.ActualQPS < reached*rate:
		t.Broken = fmt.Sprintf("requested rate not reached: %.4g of %.4g requests/s (%.3g %%)", *r.ActualQPS, rate, *r.ActualQPS/rate*100)
	}
	if rate == 0 {
		t.Loop = &experiment.Loop{Latency: meanLatency, Throughput: throughput, Workers: float64(max(0, r.NumThreads))}
	}
	r.measure(&t, rate > 0)
	t.Histograms, err = r.histograms()
	return t, err
}

// rate returns the requested rate in 1/s; 0 means as fast as the connections allow.
func (r *result) rate() (float64, error) {
	if r.RequestedQPS == "max" {
		return 0, nil
	}
	rate, err := importer.Number(r.RequestedQPS)
	if err != nil || rate <= 0 {
		return 0, fmt.Errorf("RequestedQPS is %q, neither \"max\" nor a rate", r.RequestedQPS)
	}
	return rate, nil
}

func (r *result) protocol() string {
	switch {
	case r.RunType == "HTTP", r.RunType == "TCP", r.RunType == "UDP":
		return strings.ToLower(r.RunType)
	case strings.HasPrefix(r.RunType, "GRPC Ping"):
		return "grpc-ping"
	case strings.HasPrefix(r.RunType, "GRPC Health"):
		return "grpc-health"
	case strings.Contains(r.RunType, "GRPC"):
		return "grpc"
	}
	return "load"
}

// errors returns the share of failed requests by Fortio's rules. HTTP statuses except 2xx and 418 fail, and gRPC codes
// except OK and SERVING.
func (r *result) errors(kind string) (importer.ErrorRate, error) {
	total, failed := int64(0), int64(0)
	for code, n := range r.RetCodes {
		if n < 0 || n > math.MaxInt64-total {
			return importer.ErrorRate{}, fmt.Errorf("RetCodes counts %d requests with %q", n, code)
		}
		total += n
		ok := code == "OK" || code == "SERVING"
		if kind == "http" {
			status, _ := strconv.Atoi(code) // 0 if the code is no number
			ok = status >= 200 && status <= 299 || status == 418
		}
		if !ok {
			failed += n
		}
	}
	if total == 0 {
		return importer.ErrorRate{}, nil
	}
	return importer.ErrorRate{Share: float64(failed) / float64(total), Known: true}, nil
}

func (r *result) facts() map[string]string {
	facts := map[string]string{
		"fortio version": r.Version,
		"labels":         r.Labels,
		"target":         r.URL + r.Destination,
		"run type":       r.RunType,
	}
	var unresolved []string
	for _, p := range r.DurationHistogram.Percentiles {
		if !r.DurationHistogram.resolved(p.Value) {
			unresolved = append(unresolved, quantile(p.Percentile))
		}
	}
	facts["percentiles not resolved"] = strings.Join(unresolved, ", ")
	if s := r.Sizes; s != nil && s.Count > 0 { // sizes in the result count headers beside bodies
		facts["response size"] = fmt.Sprintf("%g to %g B", s.Min, s.Max)
		if s.Min == s.Max {
			facts["response size"] = fmt.Sprintf("%g B", s.Min)
		}
	}
	if r.Resolution > 0 {
		facts["latency resolution"] = strconv.FormatFloat(r.Resolution, 'g', -1, 64) + " s"
	}
	for i, on := range []bool{r.Uniform, r.Jitter, r.NoCatchUp} {
		if on {
			facts["pacing"] = strings.TrimSpace(facts["pacing"] + " " + []string{"uniform", "jitter", "nocatchup"}[i])
		}
	}
	switch http := strings.EqualFold(r.RunType, "http"); {
	case http && r.H2:
		facts["http version"] = "2"
	case http && r.HTTP10:
		facts["http version"] = "1.0"
	case http:
		facts["http version"] = "1.1"
	}
	return facts
}

// histogram is a distribution in Fortio's form: exact moments, buckets, and percentiles interpolated in the buckets.
type histogram struct {
	Count int64
	Min   float64
	Max   float64
	Avg   float64
	Data  []struct { // the buckets, in ascending order
		Start, End float64
		Count      int64
	}
	Percentiles []struct {
		Percentile float64 // the percentile's number, such as 50 or 99.9
		Value      float64
	}
}

const (
	meanLatency = "latency-mean"
	throughput  = "throughput"
)

// measure adds the values of a result to a trial. The headline is latency at a fixed rate (fixed = true), and otherwise
// throughput.
func (r *result) measure(t *importer.Trial, fixed bool) {
	h := r.DurationHistogram
	t.Add(importer.Ratio(throughput, "1/s", experiment.Higher, !fixed), *r.ActualQPS)
	t.Add(importer.Ratio(meanLatency, "s", experiment.Lower, fixed), h.Avg)
	seen := map[string]bool{meanLatency: true, "latency-max": true}
	for _, p := range h.Percentiles {
		name := "latency-" + quantile(p.Percentile)
		if seen[name] || p.Value <= 0 || !h.resolved(p.Value) {
			continue // -p may list the same percentile twice
		}
		seen[name] = true
		t.Add(importer.Ratio(name, "s", experiment.Lower, false), p.Value)
	}
	t.AddFit(importer.Ratio("latency-max", "s", experiment.Lower, false), h.Max)
	if r.SocketCount != nil {
		t.Add(importer.Difference("sockets"), float64(*r.SocketCount))
	}
}

func quantile(percentile float64) string { return "p" + strconv.FormatFloat(percentile, 'f', -1, 64) }

func (h *histogram) resolved(value float64) bool {
	const coarse = 0.25 // largest width of a bucket ÷ percentile; a wider bucket hides the latency
	i := sort.Search(len(h.Data), func(i int) bool { return h.Data[i].End >= value })
	return i < len(h.Data) && value >= h.Data[i].Start && h.Data[i].End-h.Data[i].Start <= coarse*value
}

func (r *result) histograms() ([]importer.Histogram, error) {
	var all []importer.Histogram
	for _, of := range []struct {
		name string
		h    *histogram
	}{{"latency", r.DurationHistogram}, {"latency of failed requests", r.ErrorsDurationHistogram}} {
		if of.h == nil || len(of.h.Data) == 0 {
			continue
		}
		out := importer.Histogram{Name: of.name, Unit: "s"}
		for i, b := range of.h.Data {
			// Bounds of neighbouring buckets may differ by rounding, so they are not compared. An infinite bound is an
			// error: the last bucket ends at the largest value.
			if b.Count < 0 || !(b.Start <= b.End) || math.IsInf(b.End, 0) {
				return nil, fmt.Errorf("the histogram of %s counts %d values from %g to %g in bucket %d", of.name, b.Count, b.Start, b.End, i+1)
			}
			out.Add(b.Start, b.End, b.Count)
		}
		all = append(all, out)
	}
	return all, nil
}
