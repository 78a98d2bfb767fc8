package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCampaign is a short one: make campaign kills 300 times.
func TestCampaign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to look at every process")
	}
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("needs iperf3")
	}
	t.Setenv("TMPDIR", os.TempDir()) // which the campaign changes
	c := campaign{tare: filepath.Join(t.TempDir(), "tare"), random: random(1)}
	if out, err := exec.Command("go", "-C", "../../..", "build", "-trimpath", "-o", c.tare, "./cmd/tare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := c.carryOut(t.Context(), 12); err != nil {
		t.Error(err)
	}
	for _, fault := range c.faults {
		t.Error(fault)
	}
}
