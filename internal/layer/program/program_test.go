package program

import (
	"testing"

	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/testbed"
)

// The workload starts the arm's program, and a trial that has not started it fails.
func TestInstead(t *testing.T) {
	c := &Config{Shell: "echo x"}
	own := reference.Arguments{"true"}
	if got := At(nil, own); len(got) != 1 {
		t.Errorf("without the layer it starts %q", got)
	}
	active, err := c.Up(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	site := testbed.Holding(nil, active.Holds)
	for _, starts := range []int{0, 2, 0} {
		if _, err := active.Before(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		for range starts {
			if got := At(site, own); got[2] != "echo x" {
				t.Errorf("starts %q", got)
			}
		}
		checks, err := active.After(t.Context(), layer.Did{})
		if err != nil || len(checks) != 1 || checks[0].OK != (starts > 0) {
			t.Errorf("%d starts: %+v, %v", starts, checks, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, c := range map[int]Config{0: {Command: []string{"true"}}, 1: {}, 2: {Command: []string{""}, Shell: "x"}} {
		if got := c.validate(); (len(got) > 0) != (want > 0) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
