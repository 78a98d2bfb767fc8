package fusepassthrough

import (
	"testing"

	"tare/internal/layer/layertest"
	"tare/internal/layer/volumes/volumestest"
)

// TestProofs puts a pass-through in front of a volume, and shows that its proofs can fail.
func TestProofs(t *testing.T) {
	l := &config{}
	site, up, checks := volumestest.Up(t, Kind, l)
	if got := volumestest.Text(checks); got != "marker on the device: true; file system of the volume: true" || checks[0].Caveat == "" {
		t.Errorf("on: %s\n%+v", got, checks)
	}
	if got := volumestest.Text(layertest.Off(t, l, site)); got != "file system of the volume: false" {
		t.Errorf("off, while it is on: %s", got)
	}
	if costs, err := up.Costs(); err != nil || len(costs) != 1 || costs[0].Memory < 1<<19 {
		t.Errorf("costs: %+v, %v", costs, err)
	}
	if got := volumestest.Text(layertest.Off(t, l, volumestest.Plain(t))); got != "file system of the volume: true" {
		t.Errorf("off: %s", got)
	}
}
