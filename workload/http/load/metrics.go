package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/experiment"
	"tare/experiment/quantity"
)

// Quantiles are those of the latency that may be metrics.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"latency-p50", 0.5}, {"latency-p90", 0.9}, {"latency-p99", 0.99}, {"latency-p99.9", 0.999}}

// Beyond is how many samples a quantile needs beyond it.
const Beyond = 100

// Enough says whether so many requests are enough for a quantile.
func Enough(requests, q float64) bool { return requests*(1-q) >= Beyond*(1-1e-9) }

// CheckHeadline checks the metrics that are judged: quantiles, for which there are
// requests enough at each rate, or others. What says what is sent: "requests".
func CheckHeadline(errs *experiment.FieldErrors, judged, others []string, rates []quantity.Frequency, d quantity.Duration, what string) {
	names := slices.Clone(others)
	for _, each := range Quantiles {
		names = append(names, each.Name)
	}
	for i, name := range judged {
		at := fmt.Sprintf("headline[%d]", i)
		if !slices.Contains(names, name) {
			errs.Add(at, "%q is not one of %v", name, names)
		}
		for _, rate := range rates {
			for _, each := range Quantiles {
				if n := float64(rate) * d.Std().Seconds(); each.Name == name && !Enough(n, each.Q) {
					errs.Add(at, "%s needs %d %s beyond it, and %v over %v are %.0f in all: measure for longer", name, Beyond, what, rate, d, n)
				}
			}
		}
	}
}

// Values are those of the metrics, and the names of the quantiles that are not known.
func (r *Result) Values() (values map[string]float64, unavailable []string) {
	values = map[string]float64{"latency-mean": r.Latency.Mean().Seconds(), "rate": r.Rate(), "errors": r.ErrorShare()}
	for _, each := range Quantiles {
		if v, ok := r.Quantile(each.Q); ok {
			values[each.Name] = v.Seconds()
		} else {
			unavailable = append(unavailable, each.Name)
		}
	}
	return values, unavailable
}

// Kinds says how requests failed: "closed 12 (connection reset by peer)".
func (r *Result) Kinds() string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		text := fmt.Sprintf("%s %d", kind, r.Errors[kind])
		if example := r.Examples[kind]; example != "" {
			text += " (" + example + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
