package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPowerFailure: what tare import and tare run have finished, and every trial that is on record, is
// there when the power fails a moment later.
func TestPowerFailure(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a disk")
	}
	for _, program := range []string{"losetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skipf("needs loop devices: %v", err)
	}
	c := campaign{tare: filepath.Join(t.TempDir(), "tare"), dir: t.TempDir(), random: random(1)}
	if out, err := exec.Command("go", "-C", "../../..", "build", "-trimpath", "-o", c.tare, "./cmd/tare").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := c.power(); err != nil {
		t.Error(err)
	}
	for _, fault := range c.faults {
		t.Error(fault)
	}
}
