package experiment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/experiment"
)

// TestFactorial checks the arms of a factorial design: the baseline's layers are in all of them, and the arms
// of the file remain.
func TestFactorial(t *testing.T) {
	x := load(t, head+`arms:
  - {name: plain, layers: [env: {set: {A: b}}]}
  - {name: kernel, layers: [env: {set: {A: b}}, wireguard: {implementation: kernel}]}
workloads: [network]
design:
  factorial:
    - name: tunnel
      layers: [wireguard]
    - seccomp: {rules: 8}
`)
	plan := expand(t, x).Plan
	var arms []string
	for _, a := range plan.Arms {
		layers, err := json.Marshal(a.Layers)
		if err != nil {
			t.Fatal(err)
		}
		arms = append(arms, strings.Join([]string{a.Name, string(a.Role), strings.Join(a.Factors, " "), string(layers)}, "|"))
	}
	const base = `{"kind":"env","config":{"set":{"A":"b"}}}`
	const tunnel, filter = `{"kind":"wireguard","config":{"implementation":"auto"}}`, `{"kind":"seccomp","config":{"action":"log","rules":8}}`
	want := []string{
		"plain|baseline||[" + base + "]",
		"control|control||[" + base + "]",
		`kernel|treatment||[` + base + `,{"kind":"wireguard","config":{"implementation":"kernel"}}]`,
		"tunnel|treatment|tunnel|[" + base + "," + tunnel + "]",
		"seccomp|treatment|seccomp|[" + base + "," + filter + "]",
		"tunnel+seccomp|treatment|tunnel seccomp|[" + base + "," + tunnel + "," + filter + "]",
	}
	if diff := cmp.Diff(want, arms); diff != "" {
		t.Errorf("arms (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 3, 4, 5}, plan.Combination()); diff != "" {
		t.Errorf("arms by what is on (-want +got):\n%s", diff)
	}
	if n := plan.Effects(); n != 3 {
		t.Errorf("%d effects on one headline metric; want 3", n)
	}
	if text, err := json.Marshal(plan); err != nil || !strings.Contains(string(text), `"factorial":["tunnel","seccomp"]`) {
		t.Errorf("the plan does not tell its factors: %v\n%s", err, text)
	}
}

// TestFactorialOfThree checks the order: single factors, pairs, all.
func TestFactorialOfThree(t *testing.T) {
	plan := expand(t, load(t, head+"arms: [name: plain]\nworkloads: [network]\ndesign: {factorial: [wireguard, seccomp, env: {set: {A: b}}]}\n")).Plan
	var names []string
	for _, a := range plan.Arms {
		names = append(names, a.Name)
	}
	want := []string{"plain", "control", "wireguard", "seccomp", "env", "wireguard+seccomp", "wireguard+env", "seccomp+env", "wireguard+seccomp+env"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 2, 3, 5, 4, 6, 7, 8}, plan.Combination()); diff != "" {
		t.Errorf("arms by what is on (-want +got):\n%s", diff)
	}
	if plan.Arms = plan.Arms[:7]; plan.Combination() != nil {
		t.Error("a plan that lacks an arm of the design has the design")
	}
	if plan = (experiment.Plan{}); plan.Combination() != nil || plan.Effects() != 0 {
		t.Error("a plan without factors has a design")
	}
}
