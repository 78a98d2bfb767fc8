package catalog_test

import (
	"testing"

	"tare/internal/catalog"
	"tare/internal/experiment"
)

// TestDefaultWire checks that the local wire does not limit a server unless the file sets a limit.
func TestDefaultWire(t *testing.T) {
	const rest = "\nkind: Experiment\nname: x\narms: [{name: plain}, {name: small, layers: [{link: {mtu: 1400}}]}]\nworkloads: [http: {}, network: {}, dns: {rate: 10/s}, vault: {}, command: {run: [\"true\"]}]\n"
	want := map[string][2]string{ // the rate if the file sets none, and the measured quantity
		"http": {"unlimited", "server"}, "dns": {"unlimited", "server"}, "vault": {"unlimited", "server"},
		"network": {"1Gbit", "network"}, "command": {"1Gbit", ""},
	}
	for given, file := range map[string]string{"": "", "30Mbit": "testbed: {local: {link: {rate: 30Mbit}}}\n"} {
		x, err := experiment.Load("x.yaml", []byte("apiVersion: tare/v1alpha1"+rest+file), catalog.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		e, err := experiment.Expand(x, "test")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, c := range e.Plan.Cells {
			rate := want[c.Kind][0]
			if given != "" {
				rate = given
			}
			if got := e.Cells[i].Testbed.Local.Link.Rate.One().String(); got != rate || c.Tests != want[c.Kind][1] {
				t.Errorf("%s: %s over %s, want %s over %s", c.ID, c.Tests, got, want[c.Kind][1], rate)
			}
			seen[c.Kind] = true
		}
		if len(seen) != len(want) {
			t.Errorf("cells of %v", seen)
		}
	}
}
