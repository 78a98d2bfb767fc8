package experiment_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
)

const head = "apiVersion: tare/v1alpha1\nkind: Experiment\nname: x\n"

func expand(t *testing.T, x *experiment.Experiment) *experiment.Expansion {
	t.Helper()
	e, err := experiment.Expand(x, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Layers) != len(e.Plan.Arms) || len(e.Cells) != len(e.Plan.Cells) {
		t.Fatalf("%d arms with %d sets of layers, %d cells with %d setups", len(e.Plan.Arms), len(e.Layers), len(e.Plan.Cells), len(e.Cells))
	}
	return e
}

// TestDefaults checks the defaults of a file with required fields only.
func TestDefaults(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\n")
	e := expand(t, x)
	got, err := json.MarshalIndent(e.Plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{
  "schema": "tare.plan/v2",
  "version": "v1.2.3",
  "name": "x",
  "testbed": "local",
  "seed": %d,
  "rounds": 12,
  "confidence": "95%%",
  "equivalence": "2%%",
  "power": "80%%",
  "attempts": 3,
  "limits": {
    "errors": "0%%",
    "foreignCPU": "20%%",
    "steal": "5%%",
    "cpuPressure": null,
    "throttling": 0,
    "late": "100%%",
    "invalidTrials": "20%%"
  },
  "arms": [
    {
      "name": "plain",
      "role": "baseline",
      "layers": []
    },
    {
      "name": "control",
      "role": "control",
      "layers": []
    }
  ],
  "cells": [
    {
      "id": "network",
      "workload": "network",
      "kind": "network",
      "config": {
        "duration": "3s",
        "paths": "pod-to-pod",
        "protocols": "tcp",
        "reverse": false,
        "streams": 1
      },
      "testbed": {
        "link": {
          "mtu": 1500,
          "rate": "1Gbit"
        }
      },
      "metrics": [
        {
          "name": "tcp-bandwidth",
          "unit": "bit/s",
          "better": "higher",
          "headline": true,
          "scale": "ratio"
        }
      ],
      "expected": 4000000000
    }
  ]
}`, e.Plan.Seed)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("plan differs (-want +got):\n%s", diff)
	}
	var back experiment.Plan
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(back, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(again)); diff != "" {
		t.Errorf("plan does not survive JSON (-written +read):\n%s", diff)
	}
}

// TestLimitsOff checks that the word none removes a limit.
func TestLimitsOff(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\nlimits: {errors: none, throttling: none, cpuPressure: 40%, late: none}\n")
	pressure, foreign, steal, invalid := quantity.Percent(0.4), quantity.Percent(0.2), quantity.Percent(0.05), quantity.Percent(0.2)
	want := experiment.Limits{CPUPressure: &pressure, ForeignCPU: &foreign, Steal: &steal, InvalidTrials: &invalid}
	if diff := cmp.Diff(want, x.Limits); diff != "" {
		t.Errorf("limits differ (-want +got):\n%s", diff)
	}
}

// TestPrecision checks that a precision goal plans the pilot.
func TestPrecision(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\ndesign: {precision: 1%, pilot: 10, seed: 7}\n")
	p := expand(t, x).Plan
	if p.Rounds != 10 || p.Precision != 0.01 || p.MaxRounds != 60 || p.Seed != 7 {
		t.Errorf("rounds %d, precision %v, most %d, seed %d; want 10, 1%%, 60, 7", p.Rounds, p.Precision, p.MaxRounds, p.Seed)
	}
}

const swept = head + `
testbed: {local: {link: {rate: [1Gbit, unlimited], mtu: [1500, 8896]}}}
arms:
  - name: plain
    layers: [env: {set: {A: 1}}]
  - name: filtered
    layers:
      - seccomp: {rules: [1, 8]}
      - wireguard
workloads:
  - network: {protocols: [tcp, udp], streams: [1, 4]}
  - name: date
    command: {run: [date]}
`

// TestExpandFactors checks names, levels, order and configs of expanded factors.
func TestExpandFactors(t *testing.T) {
	e := expand(t, load(t, swept))
	var arms []string
	for i, a := range e.Plan.Arms {
		var layers []string
		for _, l := range e.Layers[i] {
			layers = append(layers, l.Kind)
		}
		arms = append(arms, fmt.Sprintf("%s %s %v %v", a.Role, a.Name, a.Levels, layers))
	}
	wantArms := []string{
		"baseline plain [] [env]",
		"control control [] [env]",
		"treatment filtered[rules=1] [rules=1] [seccomp wireguard]",
		"treatment filtered[rules=8] [rules=8] [seccomp wireguard]",
	}
	if diff := cmp.Diff(wantArms, arms); diff != "" {
		t.Errorf("arms differ (-want +got):\n%s", diff)
	}
	var cells []string
	for _, c := range e.Plan.Cells {
		cells = append(cells, c.ID)
	}
	var wantCells []string
	for _, protocol := range []string{"tcp", "udp"} {
		for _, streams := range []string{"1", "4"} {
			for _, rate := range []string{"1Gbit", "unlimited"} {
				for _, mtu := range []string{"1500", "8896"} {
					wantCells = append(wantCells, fmt.Sprintf("network.%s.streams=%s.rate=%s.mtu=%s", protocol, streams, rate, mtu))
				}
			}
		}
	}
	wantCells = append(wantCells, "date")
	if diff := cmp.Diff(wantCells, cells); diff != "" {
		t.Errorf("cells differ (-want +got):\n%s", diff)
	}
	last := len(cells) - 2
	wantLevels := []factor.Level{
		{Factor: "protocol", Value: "udp"}, {Factor: "streams", Value: "4"},
		{Factor: "rate", Value: "unlimited"}, {Factor: "mtu", Value: "8896"},
	}
	if diff := cmp.Diff(wantLevels, e.Plan.Cells[last].Levels); diff != "" {
		t.Errorf("levels differ (-want +got):\n%s", diff)
	}
	wantLink := experiment.Link{Rate: factor.Of[quantity.Rate](0), MTU: factor.Of(8896)}
	if diff := cmp.Diff(wantLink, e.Cells[last].Testbed.Local.Link); diff != "" {
		t.Errorf("link differs (-want +got):\n%s", diff)
	}
	wantConfig := &network{Protocols: factor.Of[protocol]("udp"), Paths: factor.Of[path]("pod-to-pod"), Streams: factor.Of(4), Duration: quantity.Duration(3 * time.Second)}
	if diff := cmp.Diff(wantConfig, e.Cells[last].Workload); diff != "" {
		t.Errorf("config differs (-want +got):\n%s", diff)
	}
	if got := e.Plan.Cells[last+1].Testbed; !cmp.Equal(got, any(map[string]any{"link": map[string]any{"rate": "1Gbit", "mtu": 1500}})) {
		t.Errorf("testbed of a workload without network is %v, want the first levels", got)
	}
	if got := e.Plan.Arms[1].Layers[0].Config; !cmp.Equal(got, any(map[string]any{"set": map[string]any{"A": "1"}})) {
		t.Errorf("config of the control's layer is %v", got)
	}
}

// TestExpandShares checks that an expansion shares no memory with the experiment, and that its arms share none
// with each other.
func TestExpandShares(t *testing.T) {
	x := load(t, swept)
	e := expand(t, x)
	e.Layers[1][0].Config.(*env).Set["A"] = "changed"
	e.Cells[0].Testbed.Local.Link.MTU[0] = 1
	*e.Plan.Limits.Errors = 1
	again := expand(t, x)
	if got := e.Layers[0][0].Config.(*env).Set["A"]; got != "1" {
		t.Errorf("the baseline's variable is %q after a change of the control's", got)
	}
	if got := again.Cells[0].Testbed.Local.Link.MTU.One(); got != 1500 {
		t.Errorf("MTU is %d after a change of an earlier expansion's", got)
	}
	if got := *again.Plan.Limits.Errors; got != 0 {
		t.Errorf("limit is %v after a change of an earlier expansion's", got)
	}
}

// TestCellNames checks that names stay unique, short and safe as file names.
func TestCellNames(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\n")
	x.Workloads[0].Config = &named{Value: factor.Of("a/b", "a b", "..", strings.Repeat("long", 50), strings.Repeat("long", 51))}
	var got []string
	for _, c := range expand(t, x).Plan.Cells {
		got = append(got, c.ID)
		if len(c.ID) > 110 || strings.ContainsAny(c.ID, "/\\ \x00") {
			t.Errorf("%q is not a good name of a file", c.ID)
		}
	}
	want := []string{"network.a_b", "network.a_b~2", "network.value=.."}
	if diff := cmp.Diff(want, got[:3]); diff != "" {
		t.Errorf("names differ (-want +got):\n%s", diff)
	}
	if got[3] == got[4] {
		t.Errorf("two cells are called %s", got[3])
	}
}

// named is a workload with a factor of free text.
type named struct {
	command
	Value factor.Levels[string] `yaml:"value"`
}

func TestTooManyTrials(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\n")
	var many []int
	for i := range 6000 {
		many = append(many, i+1)
	}
	x.Workloads[0].Config.(*network).Streams = many
	_, err := experiment.Expand(x, "")
	want := "one round would have more than 10000 trials (2 arms in 6000 cells); shorten the lists of levels"
	if err == nil || err.Error() != want {
		t.Errorf("Expand gives %v, want %s", err, want)
	}
}

// TestSeed checks that each call draws a new seed, and that a seed is exact in JSON.
func TestSeed(t *testing.T) {
	x := load(t, head+"arms: [name: plain]\nworkloads: [network]\n")
	a, b := expand(t, x).Plan.Seed, expand(t, x).Plan.Seed
	if a == b || a >= 1<<53 || b >= 1<<53 {
		t.Errorf("seeds %d and %d", a, b)
	}
}

// TestOrder checks that a round has every trial once, with the arms of a cell together, in an order that
// depends only on the seed and the round.
func TestOrder(t *testing.T) {
	p := expand(t, load(t, swept)).Plan
	p.Seed = 7
	first := p.Order(1)
	if len(first) != len(p.Arms)*len(p.Cells) {
		t.Fatalf("%d steps, want %d", len(first), len(p.Arms)*len(p.Cells))
	}
	seen := map[experiment.Step]bool{}
	for i, s := range first {
		seen[s] = true
		if i%len(p.Arms) > 0 && s.Cell != first[i-1].Cell {
			t.Errorf("step %d is in cell %d, the one before in %d", i, s.Cell, first[i-1].Cell)
		}
	}
	if len(seen) != len(first) {
		t.Errorf("%d different steps among %d", len(seen), len(first))
	}
	if !cmp.Equal(first, p.Order(1)) {
		t.Error("the order of round 1 changes from call to call")
	}
	if cmp.Equal(first, p.Order(2)) {
		t.Error("rounds 1 and 2 have the same order")
	}
}

// TestBudgets checks the places of budgets in the plan. An arm's own budget is in every level of the arm.
func TestBudgets(t *testing.T) {
	x := load(t, head+`arms:
- name: plain
- name: filtered
  layers: [seccomp: {rules: [1, 2]}]
  budget: {wall: 20ms, faults: 3}
- name: tunnel
  layers: [wireguard]
workloads: [command: {run: ["true"]}]
budget: {wall: 10%, faults: 0.5}
`)
	e, err := experiment.Expand(x, "test")
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(e.Plan)
	if err != nil {
		t.Fatal(err)
	}
	var plan experiment.Plan
	if err := json.Unmarshal(written, &plan); err != nil {
		t.Fatal(err)
	}
	percent := experiment.Budget{"wall": {Number: 10, Unit: "%"}, "faults": {Number: 0.5}}
	own := experiment.Budget{"wall": {Number: 20, Unit: "ms"}, "faults": {Number: 3}}
	got := map[string]experiment.Budget{"": plan.Budget}
	for _, a := range plan.Arms {
		got[a.Name] = a.Budget
	}
	want := map[string]experiment.Budget{
		"": percent, "plain": nil, "control": nil, "filtered[rules=1]": own, "filtered[rules=2]": own, "tunnel": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("budgets differ (-want +got):\n%s", diff)
	}
}

// An arm may differ in its own aspects, and in those that the file allows in all arms.
func TestAllow(t *testing.T) {
	x := load(t, head+`arms:
- name: plain
- name: filtered
  layers: [seccomp]
  allow: [exit, stderr]
- name: tunnel
  layers: [wireguard]
  allow: exit
workloads: [command: {run: ["true"]}]
allow: [output, some password]
`)
	got := map[string]string{}
	for _, a := range expand(t, x).Plan.Arms {
		got[a.Name] = fmt.Sprint(a.Allow, a.OtherProgram)
	}
	want := map[string]string{"plain": "[output] false", "control": "[] false", "filtered": "[stderr exit output] false", "tunnel": "[exit output] false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("allowed (-want +got):\n%s", diff)
	}
}

func TestBound(t *testing.T) {
	time := experiment.Metric{Name: "wall", Unit: "s", Better: experiment.Lower, Scale: experiment.Ratio}
	rate := experiment.Metric{Name: "rate", Unit: "bit/s", Better: experiment.Higher, Scale: experiment.Ratio}
	faults := experiment.Metric{Name: "faults", Better: experiment.Lower, Scale: experiment.Difference}
	loss := experiment.Metric{Name: "loss", Unit: "share", Better: experiment.Lower, Scale: experiment.Difference}
	for _, c := range []struct {
		metric experiment.Metric
		limit  quantity.Limit
		want   experiment.Bound
		err    string
	}{
		{time, quantity.Limit{Number: 150, Unit: "%"}, experiment.Bound{Value: 1.5, Scale: experiment.Ratio}, ""},
		{time, quantity.Limit{Number: 1, Unit: "ms"}, experiment.Bound{Value: 0.001, Scale: experiment.Difference}, ""},
		{rate, quantity.Limit{Number: 100, Unit: "%"}, experiment.Bound{}, "no more than all of rate can be lost, so that a limit of 100% never fails"},
		{rate, quantity.Limit{Number: 1, Unit: "ms"}, experiment.Bound{}, "rate is in bit/s; 1ms is not"},
		{faults, quantity.Limit{Number: 2}, experiment.Bound{Value: 2, Scale: experiment.Difference}, ""},
		{faults, quantity.Limit{Number: 10, Unit: "%"}, experiment.Bound{}, "faults may be zero, so that 10% of it has no meaning"},
		{faults, quantity.Limit{Number: 1, Unit: "s"}, experiment.Bound{}, "faults has no unit; 1s has one"},
		{loss, quantity.Limit{Number: 0.5, Unit: "%"}, experiment.Bound{Value: 0.005, Scale: experiment.Difference}, ""},
	} {
		got, err := c.metric.Bound(c.limit)
		if text := fmt.Sprint(err); got != c.want || err != nil && text != c.err || err == nil && c.err != "" {
			t.Errorf("%s of %s: %v, %v; want %v, %q", c.limit, c.metric.Name, got, err, c.want, c.err)
		}
	}
}
