package cost

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/lists"
)

// Error is an error in the user's options, with a hint how to correct the options.
type Error struct{ Text, Hint string }

func (e *Error) Error() string { return e.Text }

// ErrNoVerdicts is the error for a run without verdicts, whose numbers allow no conclusions.
var ErrNoVerdicts = errors.New("the run gives no verdicts, so that nothing is made of its figures")

type source struct {
	Cell   string
	Metric experiment.Metric
	basis  basis
	unit   string  // the unit of work
	units  float64 // units of work in one unit of a capacity metric
}

func (o *Options) check() error {
	switch {
	case o.Rate == "":
		return &Error{"no rate of work is given", "give what the arms are to do: --rate 12000/s"}
	case !positive(o.NodeCPUs):
		return &Error{"no node has so few CPUs, or none are given", "give their number: --node-cpus 8"}
	case o.NodePrice < 0 || math.IsNaN(o.NodePrice) || math.IsInf(o.NodePrice, 0):
		return &Error{"a node costs something or nothing", "give its price: --node-price 0.40/h"}
	case !positive(o.Utilisation) || o.Utilisation > 1:
		return &Error{fmt.Sprintf("%v of a node cannot be used", quantity.Percent(o.Utilisation)), "give a share above 0% and up to 100%: --utilisation 70%"}
	}
	return nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// choose finds the selected CPU metric, and its cell's capacities in its unit of work. Without a CPU metric, it finds
// the selected capacity.
func choose(plan *experiment.Plan, o Options) ([]source, error) {
	if o.Cell != "" && plan.Cell(o.Cell) == nil {
		cells := lists.Map(plan.Cells, func(c experiment.Cell) string { return c.ID })
		return nil, &Error{fmt.Sprintf("the run has no cell %q", o.Cell), "cells: " + strings.Join(cells, ", ")}
	}
	var cpu, parts, capacities []source // cpu: CPU time of all programs; parts: CPU time of some programs
	for _, s := range Sources(plan) {
		switch name := s.Metric.Name; {
		case o.Cell != "" && s.Cell != o.Cell:
		case s.basis == Capacity && (o.Metric == "" || o.Metric == name):
			capacities = append(capacities, s)
		case s.basis == Capacity:
		case o.Metric == name || o.Metric == "" && (name == "cpu" || strings.HasSuffix(name, "-cpu")):
			cpu = append(cpu, s)
		case o.Metric == "" && strings.Contains(name, "cpu"):
			parts = append(parts, s)
		}
	}
	if cpu == nil {
		cpu = parts
	}
	if cpu == nil {
		cpu, capacities = capacities, nil
	}
	switch {
	case len(cpu) == 0:
		return nil, missing(plan, o)
	case len(cpu) > 1:
		return nil, ambiguous(cpu)
	}
	chosen := cpu
	for _, c := range capacities {
		if c.Cell == cpu[0].Cell && (c.unit == cpu[0].unit || c.unit == "" && cpu[0].unit != "Gbit" && cpu[0].unit != "GB") {
			c.unit = cpu[0].unit
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// Sources lists those metrics of a plan from which the number of nodes that an arm needs can be computed, in the plan's
// order.
func Sources(plan *experiment.Plan) (list []source) {
	for _, c := range plan.Cells {
		for _, m := range c.Metrics {
			s := source{Cell: c.ID, Metric: m, units: 1}
			work, perUnit := strings.CutPrefix(m.Unit, "s/")
			of, perSecond := strings.CutSuffix(m.Unit, "/s")
			switch {
			case m.Scale != experiment.Ratio:
				continue
			case perUnit && m.Better == experiment.Lower:
				s.basis, s.unit = CPU, work
			case perSecond && m.Better == experiment.Higher && (m.Name == "capacity" || strings.HasSuffix(m.Name, "-capacity")):
				s.basis, s.unit = Capacity, of
				switch of {
				case "1":
					s.unit = ""
				case "bit":
					s.unit, s.units = "Gbit", 1e-9
				case "B":
					s.unit, s.units = "GB", 1e-9
				}
			default:
				continue
			}
			list = append(list, s)
		}
	}
	return list
}

func missing(plan *experiment.Plan, o Options) error {
	names := lists.Map(Sources(plan), func(s source) string { return s.Metric.Name })
	slices.Sort(names)
	text := "the run measured no CPU time per unit of work and no capacity"
	if o.Metric != "" {
		text = fmt.Sprintf("%s is no CPU time per unit of work and no capacity of the run", o.Metric)
	}
	hint := "workloads that tell how much work they do, such as network and storage, have metrics such as tcp-cpu in s/Gbit"
	if names != nil {
		hint = "metrics that there are: " + strings.Join(slices.Compact(names), ", ")
	}
	return &Error{text, hint}
}

// ambiguous returns the error that the user must choose one of several metrics. Its hint lists the options of the
// command line.
func ambiguous(list []source) error {
	var cells, metrics []string
	for _, s := range list {
		cells, metrics = append(cells, s.Cell), append(metrics, s.Metric.Name)
	}
	cells, metrics = slices.Compact(slices.Sorted(slices.Values(cells))), slices.Compact(slices.Sorted(slices.Values(metrics)))
	var how []string
	if len(metrics) > 1 {
		how = append(how, "--metric "+strings.Join(metrics, "|"))
	}
	if len(cells) > 1 {
		how = append(how, "--cell "+strings.Join(cells, "|"))
	}
	return &Error{fmt.Sprintf("the run has %d figures that the answer could rest on", len(list)), "choose one: " + strings.Join(how, ", ")}
}

// ParseRate reads a rate per second. The text is a count ("12000/s", "600/min") or an amount of data ("40Gbit/s",
// "500MB/s"). The error is an *Error.
func ParseRate(text, unit string) (float64, error) {
	example := "12000/s"
	if unit == "Gbit" || unit == "GB" {
		example = "40" + unit + "/s"
	}
	bad := &Error{fmt.Sprintf("%q is not a rate of work", text), "give one such as " + example}
	amount, per := text, 0.0
	for suffix, seconds := range map[string]float64{"/s": 1, "/min": 60, "/h": 3600} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			amount, per = rest, seconds
		}
	}
	if per == 0 {
		return 0, bad
	}
	amount = strings.TrimSpace(amount)
	v, err := strconv.ParseFloat(amount, 64)
	if err != nil {
		v, err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(amount, unit)), 64)
	}
	switch {
	case err == nil:
	case unit == "Gbit":
		var q quantity.Rate
		err = q.UnmarshalText([]byte(amount))
		v = float64(q) / 1e9
	case unit == "GB":
		var q quantity.Size
		err = q.UnmarshalText([]byte(amount))
		v = float64(q) / 1e9
	}
	if v /= per; err != nil || !positive(v) {
		return 0, bad
	}
	return v, nil
}

// ParsePrice reads a price per hour: "0.40/h", "290/month". The error is an *Error.
func ParsePrice(text string) (float64, error) {
	for suffix, hours := range map[string]float64{"/h": 1, "/month": hoursPerMonth} {
		if amount, ok := strings.CutSuffix(text, suffix); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(amount), 64); err == nil && positive(v) {
				return v / hours, nil
			}
		}
	}
	return 0, &Error{fmt.Sprintf("%q is not a price", text), "give a number per time, such as 0.40/h or 290/month; --currency names the currency"}
}
