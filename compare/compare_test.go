package compare

import (
	"testing"
)

func TestSmoke(t *testing.T) {
	a := made{name: "runs/a", arms: []string{"wireguard"}, factors: map[string]float64{"wireguard": 1.05}, seed: 1}.run(t)
	b := made{name: "runs/b", arms: []string{"wireguard"}, factors: map[string]float64{"wireguard": 1.08}, seed: 2, level: 140, start: february}.run(t)
	r, err := Runs([]Input{a, b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r.Observational)
	for _, c := range append(r.Changes, r.Floors...) {
		t.Log(c.Arm, c.From, c.To, c.Text, c.Warnings)
	}
	for _, l := range r.Levels {
		if l.Against != nil {
			t.Log(l.Run, l.Arm, l.Against.Text)
		}
	}
	for _, p := range r.Differences {
		t.Log(p.Group, p.Path, p.Change())
	}
	t.Log(r.Warnings, len(r.Same))
}
