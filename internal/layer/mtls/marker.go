package mtls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

const arrivalLimit = 6 * time.Second // timeout of a datagram; a tunnel may make a handshake first

type markerOutcome struct {
	sent
	size   int  // size of the marker in bytes
	clear  int  // number of frames on the wire that show the marker in clear
	hidden bool // a datagram that bypasses the proxies cannot be seen in clear either
}

// sendMarker sends a random marker from the client pod to the server pod and looks for it on the wire. The argument
// seen is set if the wire should show the marker. If the wire then does not show the marker, sendMarker also sends a
// datagram: something else, such as a tunnel between the nodes, may hide both.
func (h helpers) sendMarker(ctx context.Context, site surroundings, o sendRequest, seen bool) (m markerOutcome, err error) {
	o.Marker = evidence.Marker()
	m.size = len(o.Marker)
	stop := func() (int, error) { return 0, nil }
	if site.Wire != nil {
		if stop, err = site.Watch(ctx, []byte(o.Marker)); err != nil {
			return m, err
		}
	}
	err = h[testbed.ClientPod].Ask(ctx, request{Send: &o}, &m.sent)
	var watched error
	m.clear, watched = stop()
	if err := errors.Join(err, watched); err != nil {
		return m, err
	}
	if seen && m.arrived() && m.clear == 0 && site.Datagrams != nil {
		m.hidden, err = hidden(ctx, site)
	}
	return m, err
}

func hidden(ctx context.Context, site surroundings) (bool, error) {
	marker := []byte(evidence.Marker())
	stop, err := site.Watch(ctx, marker)
	if err != nil {
		return false, err
	}
	arrived, err := site.DeliverBetween(ctx, testbed.ClientPod, testbed.ServerPod, marker, arrivalLimit)
	frames, watched := stop()
	return arrived && frames == 0, errors.Join(err, watched)
}

// checkWay checks by which connection the marker arrives: by the connection that the client opened (direct),
// or by one that a proxy opened.
func (m markerOutcome) checkWay(direct bool) layer.Check {
	say := map[bool]string{true: "arrives by the connection that it was sent on", false: "arrives by another connection than the one it was sent on"}
	c := layer.Check{Layer: kind, Name: "marker from pod to pod", Expected: say[direct], Observed: say[m.direct()]}
	if !m.arrived() {
		c.Observed = "does not arrive: " + m.Refused
	}
	c.OK = m.arrived() && m.direct() == direct
	return c
}

// checkWire checks that the wire shows the marker in clear if clear is set, and that it does not otherwise.
func (m markerOutcome) checkWire(clear bool) layer.Check {
	c := layer.Check{Layer: kind, Name: "marker on the wire", Expected: "in clear in 0 frames", Observed: fmt.Sprintf("in clear in %d frames", m.clear)}
	c.OK = m.arrived() && (m.clear > 0) == clear
	if clear {
		c.Expected = "in clear in at least 1 frame, or as hidden as a datagram"
		if m.hidden {
			c.OK, c.Observed = true, c.Observed+", nor is a datagram: something else hides both"
		}
	}
	return c
}

type podWire struct{ helper *helperrpc.Helper } // the wire as the helper in a pod sees it: the pod's network interfaces

var _ testbed.Wire = (*podWire)(nil)

func (w *podWire) Watch(ctx context.Context, pattern []byte) (func() (int, error), error) {
	if err := w.helper.Ask(ctx, request{Watch: string(pattern)}, nil); err != nil {
		return nil, err
	}
	return func() (n int, err error) {
		err = w.helper.Ask(context.WithoutCancel(ctx), request{Unwatch: &struct{}{}}, &n)
		return n, err
	}, nil
}
