package wireguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/layer"
	"tare/layer/evidence"
	"tare/testbed"
)

// way is one that markers go: from a pod behind one end to a pod behind another.
type way struct{ from, to testbed.Place }

// ways are those between each two ends, the client's first. Those who come earlier send:
// whoever was given another key begins the handshakes.
func ways(s surroundings) []way {
	var all []way
	for i, from := range s.spots {
		for _, to := range s.spots[i+1:] {
			all = append(all, way{from.pod, to.pod})
		}
	}
	return all
}

// fromClient keeps the ways from the client's pod.
func fromClient(all []way) []way {
	return slices.DeleteFunc(all, func(w way) bool { return w.from != testbed.ClientPod })
}

// sighting is what became of a marker.
type sighting struct {
	way     way
	size    int // of the marker, bytes
	arrived bool
	clear   int // frames on the wire that show it in clear
	inside  int // frames on the tunnel's interface in the pod that do
}

// sendMarker sends a random marker from pod to pod and looks for it on the wire.
func sendMarker(ctx context.Context, s surroundings, w way, limit time.Duration) (sighting, error) {
	marker := []byte(evidence.Marker())
	m, err := s.send(ctx, w, marker, limit)
	if err != nil {
		return sighting{}, err
	}
	m.way, m.size = w, len(marker)
	return m, nil
}

// sightings are what became of the markers on all ways.
type sightings []sighting

// atATime is how many markers are on their way at a time. To stop watching takes some ten
// milliseconds, however many do.
const atATime = 32

// sendMarkers sends a marker of its own on each way.
func sendMarkers(ctx context.Context, s surroundings, all []way, limit time.Duration) (sightings, error) {
	seen, errs := make(sightings, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	free := make(chan struct{}, atATime)
	for i, w := range all {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			seen[i], errs[i] = sendMarker(ctx, s, w, limit)
		})
	}
	wait.Wait()
	return seen, errors.Join(errs...)
}

// carried is what a tunnel's counters show of all markers, in bytes: each is a packet of IPv4
// and UDP, padded to 16 bytes, with 32 bytes of WireGuard's own (the WireGuard paper,
// section 5.4.6). A marker that went another way is missed then.
func (m sightings) carried() (bytes uint64) {
	for _, one := range m {
		bytes += (uint64(one.size)+20+8+15)/16*16 + 32
	}
	return bytes
}

// checkArrival says that the markers should arrive, or should not.
func (m sightings) checkArrival(name string, want bool) layer.Check {
	say := map[bool]string{true: "arrives", false: "does not arrive"}
	return m.check(name, say[want], func(one sighting) (string, bool) { return say[one.arrived], one.arrived == want })
}

// checkWire says that markers that have arrived should have been seen in clear
// between the nodes, or should not.
func (m sightings) checkWire(name string, clear bool) layer.Check {
	say := map[bool]string{true: "in clear in at least 1 frame", false: "in clear in 0 frames"}
	return m.check(name, say[clear], func(one sighting) (string, bool) {
		return fmt.Sprintf("in clear in %d frames", one.clear), one.arrived && (one.clear > 0) == clear
	})
}

// checkInside says that markers should have been seen on the tunnel's interface.
func (m sightings) checkInside(name string) layer.Check {
	return m.check(name, "in at least 1 frame", func(one sighting) (string, bool) {
		return fmt.Sprintf("in %d frames", one.inside), one.inside > 0
	})
}

// check holds what became of each marker against what is expected of all. Of several it
// counts those of which that is so, and tells some of the others.
func (m sightings) check(name, expected string, look func(sighting) (observed string, ok bool)) layer.Check {
	const most = 3 // that are told
	c := layer.Check{Layer: kind, Name: name, Expected: expected}
	if len(m) == 1 {
		c.Observed, c.OK = look(m[0])
		return c
	}
	var other []string
	for _, one := range m {
		if observed, ok := look(one); !ok {
			other = append(other, fmt.Sprintf("%s from %s to %s", observed, one.way.from, one.way.to))
		}
	}
	c.OK = len(m) > 0 && len(other) == 0
	c.Expected += fmt.Sprintf(", between all %d pairs", len(m))
	c.Observed = fmt.Sprintf("so between %d of %d", len(m)-len(other), len(m))
	if more := len(other) - most; more > 0 {
		other = append(other[:most], fmt.Sprintf("and %d more", more))
	}
	if len(other) > 0 {
		c.Observed += ": " + strings.Join(other, ", ")
	}
	return c
}
