package fortio

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"tare/internal/experiment"
	"tare/internal/importer"
)

// histogram is a distribution in Fortio's form: exact moments, buckets, and percentiles interpolated in the
// buckets.
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
		Percentile float64 // such as 50 or 99.9
		Value      float64
	}
}

// The metrics that a closed loop ties together.
const (
	meanLatency = "latency-mean"
	throughput  = "throughput"
)

func closedLoop(connections int) *experiment.Loop {
	return &experiment.Loop{Latency: meanLatency, Throughput: throughput, Workers: float64(max(0, connections))}
}

// measure adds the values. The headline is latency at a fixed rate, and throughput otherwise.
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

func quantile(percentile float64) string {
	return "p" + strconv.FormatFloat(percentile, 'f', -1, 64)
}

// coarse is the largest width of a bucket, as a share of a percentile in it. In a wider bucket, the percentile
// shows the bucket's boundaries rather than the latency.
const coarse = 0.25

// resolved reports whether the buckets are narrow enough for a percentile.
func (h *histogram) resolved(value float64) bool {
	i := sort.Search(len(h.Data), func(i int) bool { return h.Data[i].End >= value })
	return i < len(h.Data) && value >= h.Data[i].Start && h.Data[i].End-h.Data[i].Start <= coarse*value
}

func (h *histogram) unresolved() []string {
	var names []string
	for _, p := range h.Percentiles {
		if !h.resolved(p.Value) {
			names = append(names, quantile(p.Percentile))
		}
	}
	return names
}

// histograms returns the latency distributions of all requests and of failed requests.
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
			// Adjacent buckets meet within rounding, and the last one ends at the largest value.
			if b.Count < 0 || !(b.Start <= b.End) || math.IsInf(b.End, 0) {
				return nil, fmt.Errorf("the histogram of %s counts %d values from %g to %g in bucket %d", of.name, b.Count, b.Start, b.End, i+1)
			}
			out.Lower = append(out.Lower, b.Start)
			out.Upper = append(out.Upper, b.End)
			out.Count = append(out.Count, b.Count)
		}
		all = append(all, out)
	}
	return all, nil
}
