package experiment_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
)

func TestUsualLooks(t *testing.T) {
	for most, want := range map[int][]int{40: {6, 9, 13, 19, 28, 40}, 20: {6, 9, 13, 20}, 7: {7}, 12: {6, 9, 12}} {
		if got := experiment.UsualLooks(most); !slices.Equal(got, want) {
			t.Errorf("at most %d rounds: %v, want %v", most, got, want)
		}
	}
	p := experiment.Plan{Rounds: 20, DecideAt: experiment.UsualLooks(20)}
	if got := p.LooksUpTo(11); !slices.Equal(got, []int{6, 9, 11}) || p.LookRounds() != "6, 9, 13 and 20" {
		t.Errorf("looks up to 11: %v; %s", got, p.LookRounds())
	}
	if got := new(experiment.Plan).LooksUpTo(11); got != nil {
		t.Errorf("looks of a plan without any: %v", got)
	}
}

func TestStop(t *testing.T) {
	for design, want := range map[string]string{
		"{rounds: {atMost: 40}, stop: decided}":                 "6, 9, 13, 19, 28 and 40",
		"{rounds: {atMost: 30}, stop: decided, looks: [8, 16]}": "8, 16 and 30",
		"{rounds: 12, stop: planned}":                           "",
		"{rounds: 12, stop: decided}":                           "stop: decided needs the largest number of rounds",
		"{stop: decided}":                                       "stop: decided needs the largest number of rounds",
		"{rounds: {atMost: 40}}":                                "rounds that may be fewer need a reason to stop",
		"{rounds: {atMost: 40, fixed: 12}, stop: decided}":      "fixed and atMost exclude each other",
		"{precision: 2%, stop: decided}":                        "stop: decided and precision exclude each other",
		"{rounds: 12, looks: [6]}":                              "looks have no effect without stop: decided",
		"{rounds: {atMost: 40}, stop: decided, looks: [9, 6]}":  "expected ascending numbers of rounds from 2 to 40",
		"{rounds: {atMost: 40}, stop: decided, looks: [6, 6]}":  "expected ascending numbers of rounds from 2 to 40",
		"{rounds: {atMost: 40}, stop: decided, looks: [6, 50]}": "expected ascending numbers of rounds from 2 to 40",
		"{rounds: {atMost: 1}, stop: decided}":                  "",
		"{rounds: {atMost: 40}, stop: soon}":                    "planned or decided",
		"{rounds: many, stop: decided}":                         "rounds",
	} {
		x, err := experiment.Load("stop.yaml", []byte("apiVersion: tare/v1alpha1\nkind: Experiment\nname: n\narms: [{name: plain}]\nworkloads: [{command: {run: [\"true\"], metrics: [{name: wall, from: wall-clock}]}}]\ndesign: "+design+"\n"), catalog.Kinds())
		text := ""
		if err != nil {
			text = err.Error()
		} else {
			e, err := experiment.Expand(x, "")
			if err != nil {
				t.Fatal(err)
			}
			text = e.Plan.LookRounds()
			if (text != "") != (len(e.Plan.DecideAt) > 0) || text != want {
				t.Errorf("%s: looks after %q, want %q", design, text, want)
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %s; want %s", design, text, want)
		}
	}
}
