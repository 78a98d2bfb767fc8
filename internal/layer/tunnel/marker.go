package tunnel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
)

// way is the way of a marker: from a pod behind one end to a pod behind another end.
type way struct {
	from, to testbed.Place
	limit    time.Duration // timeout of the marker
}

// ways returns one way for each pair of ends. The end that comes first in the list of ends sends, since this end starts
// the handshakes (Peer.Connect).
func (t *Tunnels) ways(limit time.Duration) (all []way) {
	for i, from := range t.ends {
		for _, to := range t.ends[i+1:] {
			all = append(all, way{from.pod, to.pod, limit})
		}
	}
	return all
}

// markerOutcome is the outcome of a marker that was sent.
type markerOutcome struct {
	way     way
	size    int // size of the marker in bytes
	arrived bool
	clear   int // number of frames on the wire that show the marker in clear
	inside  int // number of frames on the tunnel's interface in the pod that show the marker
}

func (t *Tunnels) sendMarker(ctx context.Context, w way) (markerOutcome, error) {
	marker := []byte(evidence.Marker())
	m, err := t.send(ctx, w, marker)
	if err != nil {
		return markerOutcome{}, err
	}
	m.way, m.size = w, len(marker)
	return m, nil
}

type markerOutcomes []markerOutcome

// atATime is the number of markers that are sent in parallel. The end of a watch takes some ten milliseconds.
const atATime = 32

func (t *Tunnels) sendMarkers(ctx context.Context, all []way) (markerOutcomes, error) {
	seen, errs := make(markerOutcomes, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	free := make(chan struct{}, atATime)
	for i, w := range all {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			seen[i], errs[i] = t.sendMarker(ctx, w)
		})
	}
	wait.Wait()
	return seen, errors.Join(errs...)
}

// carried returns the smallest number of bytes by which the markers together increase a protocol's counters.
func (m markerOutcomes) carried(p *Protocol) (bytes uint64) {
	for _, one := range m {
		bytes += p.Carried(one.size)
	}
	return bytes
}

// checkArrival checks that every marker arrived if want is set, and otherwise that none did.
func (m markerOutcomes) checkArrival(kind, name string, want bool) layer.Check {
	say := map[bool]string{true: "arrives", false: "does not arrive"}
	return m.check(kind, name, say[want], func(one markerOutcome) (string, bool) { return say[one.arrived], one.arrived == want })
}

// checkWire checks that every marker arrived, and was seen in clear between the nodes if clear is set, but not
// otherwise.
func (m markerOutcomes) checkWire(kind, name string, clear bool) layer.Check {
	say := map[bool]string{true: "in clear in at least 1 frame", false: "in clear in 0 frames"}
	return m.check(kind, name, say[clear], func(one markerOutcome) (string, bool) {
		return fmt.Sprintf("in clear in %d frames", one.clear), one.arrived && (one.clear > 0) == clear
	})
}

// check compares the outcome of each marker with the expected outcome. If there are several markers, the check has the
// number of expected outcomes and names some of the other outcomes.
func (m markerOutcomes) check(kind, name, expected string, look func(markerOutcome) (observed string, ok bool)) layer.Check {
	const most = 3 // number of unexpected outcomes that are named
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
