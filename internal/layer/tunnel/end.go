package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// end is one end of the tunnels. It is on a node of this machine, or in a pod of a cluster.
type end struct {
	at    testbed.Place // place of the helper
	place testbed.Place // place in messages and costs
	pod   testbed.Place // pod behind the end, which sends and receives markers
	own   []netip.Addr  // addresses of the pod; none on a node
	mtu   int           // MTU of the tunnel; 0: the helper determines it
	peer  Peer          // this end as its peers know it, without a key
	key   Key
	peers []Peer

	helper  *helperrpc.Helper // nil: not started
	daemon  testbed.Process   // nil: not running
	lacks   string            // reason why the kernel cannot encrypt
	kernel  bool              // the kernel encrypts
	program string            // name of the implementation in messages
	opened  Opened
	version string
}

// start starts the end's helper, unless it runs already.
func (e *end) start(ctx context.Context, t *Tunnels) (err error) {
	if e.helper != nil {
		return nil
	}
	e.program = t.Program
	if e.helper, err = helperrpc.Start(ctx, t.site, e.at, t.Layer); err != nil {
		return fmt.Errorf("%s: start the layer's helper: %w", e.place, err)
	}
	return nil
}

// open opens the end, starts its daemon if it has one, and sets its key and its peers.
func (e *end) open(ctx context.Context, t *Tunnels, kernel bool) (err error) {
	if e.kernel = kernel; kernel {
		e.program = t.Protocol.Kernel
	}
	err = e.ask(ctx, request{Open: &Opening{Kernel: kernel, MTU: e.mtu, Own: e.own, Address: e.peer.Address, Behind: e.peer.Behind}}, &e.opened)
	if err == nil && e.opened.Daemon != nil {
		e.daemon, err = t.site.Start(context.WithoutCancel(ctx), e.at, testbed.Command{Args: e.opened.Daemon, Env: e.opened.Env})
		if err != nil {
			err = fmt.Errorf("%s: %w", e.place, err)
		}
	}
	if err != nil && !kernel {
		err = fmt.Errorf("%s %w: %w", t.Program, errUserspace, err)
	}
	if err == nil {
		err = e.ask(ctx, request{Ready: &struct{}{}}, &e.version)
	}
	if err == nil {
		err = e.rekey(ctx, e.key)
	}
	return err
}

func (e *end) rekey(ctx context.Context, own Key) error {
	return e.ask(ctx, request{Rekey: &rekeying{own, e.peers}}, nil)
}

// ask sends the helper a request and waits for the response.
func (e *end) ask(ctx context.Context, r request, into any) error {
	if err := e.helper.Ask(ctx, r, into); err != nil {
		return fmt.Errorf("%s: %s: %s: %w", e.place, e.program, r, err)
	}
	return nil
}

// cost returns the CPU time and memory that the end's helper and daemon have used.
func (e *end) cost() (c layer.Cost, err error) {
	c.Part = string(e.place)
	var errs [2]error
	c.CPU, errs[0] = e.helper.CPU()
	c.Memory, errs[1] = e.helper.Memory()
	if e.daemon != nil {
		cpu, err := e.daemon.CPU()
		memory, bad := e.daemon.Memory()
		c.CPU, c.Memory, errs[0] = c.CPU+cpu, c.Memory+memory, errors.Join(errs[0], err, bad)
	}
	return c, errors.Join(errs[:]...)
}

// close closes the end. It ends the end's helper and daemon.
func (e *end) close(ctx context.Context) error {
	if e.helper == nil {
		return nil
	}
	errs := []error{e.helper.Close(ctx)}
	if e.daemon != nil {
		errs = append(errs, e.daemon.Kill())
		_, _ = e.daemon.Wait() // Wait returns an error, because the daemon was killed
	}
	e.helper, e.daemon = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %s: %w", e.place, e.program, err)
	}
	return nil
}

// request is one request, on one line, to the helper at an end. Exactly one field is set. The helper acts in
// its own network namespace.
type request struct {
	Kernel  *struct{} `json:"kernel,omitempty"`  // check the kernel; the response is the reason why it cannot encrypt, "" if it can
	Open    *Opening  `json:"open,omitempty"`    // open the end; the response is an Opened
	Ready   *struct{} `json:"ready,omitempty"`   // wait until the daemon is ready, if there is one; the response is the version
	Rekey   *rekeying `json:"rekey,omitempty"`   // see Engine.Rekey
	Connect *struct{} `json:"connect,omitempty"` // see Engine.Connect
	Traffic *struct{} `json:"traffic,omitempty"` // read the counters; the response is a Traffic
	Close   *struct{} `json:"close,omitempty"`   // close the end, if it is open

	// The other fields are for ends in pods. For ends on nodes of this machine, the testbed does this work.

	Direct *direction `json:"direct,omitempty"`
	Undo   *struct{}  `json:"undo,omitempty"`   // undo Direct, if there was one
	Send   *sending   `json:"send,omitempty"`   // send a marker; the response is a sent
	Answer *struct{}  `json:"answer,omitempty"` // start answering markers; the response is whether the tunnel's interface exists
}

// String names the request without its values.
func (r request) String() string {
	switch {
	case r.Kernel != nil:
		return "ask the kernel"
	case r.Open != nil:
		return "open"
	case r.Ready != nil:
		return "wait for the daemon"
	case r.Rekey != nil:
		return "set key and peers"
	case r.Connect != nil:
		return "connect"
	case r.Close != nil:
		return "close"
	case r.Direct != nil:
		return "route packets for the peers into the tunnel"
	case r.Undo != nil:
		return "route packets for the peers past the tunnel"
	case r.Answer != nil:
		return "answer markers"
	case r.Send != nil:
		return "send a marker"
	}
	return "read the counters"
}

// rekeying holds the parameters of Engine.Rekey.
type rekeying struct {
	Own   Key    `json:"own"`
	Peers []Peer `json:"peers"`
}

// direction asks the helper to route packets for the peers into the tunnel. The packets are those of the
// pod's programs. The tunnel's own packets are not routed into it.
type direction struct {
	Device string       `json:"device"` // "": the kernel encrypts by policy
	Peers  []netip.Addr `json:"peers"`  // addresses of the peers' pods
	// Service is an address that is replaced by the address Server, of the server's pod. It is invalid if no
	// address is replaced.
	Service netip.Addr `json:"service"`
	Server  netip.Addr `json:"server"`
}

// sending asks the helper to send a marker as one UDP datagram.
type sending struct {
	To     netip.Addr    `json:"to"`
	Marker string        `json:"marker"`
	Limit  time.Duration `json:"limit"`           // timeout of the answer
	Watch  bool          `json:"watch,omitempty"` // watch the pod's interfaces, which needs CAP_NET_RAW
}

// sent is the outcome of sending a marker.
type sent struct {
	Arrived bool `json:"arrived"`
	Wire    int  `json:"wire"`   // number of frames with the marker on interfaces other than the tunnel's
	Tunnel  int  `json:"tunnel"` // number of frames with the marker on the tunnel's interface
}
