package storage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/test/slow"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// TestDevice measures a real block device, a loop device, with O_DIRECT. Its file is cut; reads of the cut part fail,
// and count as failed.
func TestDevice(t *testing.T) {
	slow.Test(t)
	needFio(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to attach a loop device")
	}
	file := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, leastSize+trailer); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("detach %s: %v: %s", device, err, out)
		}
	})
	c := short(randomRead)
	c.Mode, c.Direct = Block, pastCache
	site := testbed.Site(directory(device))
	r, err := run(t.Context(), c, site, &memory{})
	if err != nil || r.Values["read-iops"] <= 0 || r.Failed != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	whole(t, file)

	measure, err := c.Prepare(t.Context(), &workload.Trial{Site: site, Raw: &memory{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, leastSize/2); err != nil {
		t.Fatal(err)
	}
	if r, err = measure(t.Context()); err != nil || r.Failed < 0.1 || r.Failed > 0.9 {
		t.Errorf("%v failed, %v; half of the device is gone", r.Failed, err)
	}
}
