package tunnel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"time"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// end is one end of the tunnels. It is on a node of this machine, or in a pod of a cluster.
type end struct {
	at    testbed.Place // place of the helper
	place testbed.Place // place of the end, as named in messages and costs
	pod   testbed.Place // pod behind the end, which sends and receives markers
	own   []netip.Addr  // addresses of the pod; none on a node
	mtu   int           // MTU of the tunnel; 0: the helper determines it
	peer  Peer          // this end as its peers know it, without a key
	key   Key
	peers []Peer

	helper  *helperrpc.Helper // helper of the end; nil: not started
	daemon  testbed.Process   // program in user space that encrypts; nil: none runs
	lacks   string            // reason why the kernel cannot encrypt
	kernel  bool              // set if the kernel encrypts
	program string            // name of the encrypting program or kernel, for messages
	opened  Opened
	version string
}

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

// open opens the end, starts its daemon, and sets its key and its peers.
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

func (e *end) ask(ctx context.Context, r request, into any) error {
	if err := e.helper.Ask(ctx, r, into); err != nil {
		return fmt.Errorf("%s: %s: %s: %w", e.place, e.program, r, err)
	}
	return nil
}

func (e *end) cost() (layer.Cost, error) {
	if e.daemon == nil {
		return layer.CostOf(string(e.place), e.helper)
	}
	return layer.CostOf(string(e.place), e.helper, e.daemon)
}

func (e *end) close(ctx context.Context) error {
	if e.helper == nil {
		return nil
	}
	errs := []error{e.helper.Close(ctx)}
	if e.daemon != nil {
		errs = append(errs, e.daemon.Kill())
		_, _ = e.daemon.Wait() // ignores the error of Wait: the daemon was killed
	}
	e.helper, e.daemon = nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %s: %w", e.place, e.program, err)
	}
	return nil
}

// request is one request to the helper at an end, which acts in its own network namespace. Exactly one field is set.
type request struct {
	// the response is the reason why this end cannot encrypt in the kernel; "": it can
	Kernel  *struct{} `json:"kernel,omitempty" title:"ask the kernel"`
	Open    *Opening  `json:"open,omitempty" title:"open"`                 // the response has the type Opened
	Ready   *struct{} `json:"ready,omitempty" title:"wait for the daemon"` // the response is the version
	Rekey   *rekeying `json:"rekey,omitempty" title:"set key and peers"`
	Connect *struct{} `json:"connect,omitempty" title:"connect"`
	Traffic *struct{} `json:"traffic,omitempty" title:"read the counters"` // the response has the type Traffic
	Close   *struct{} `json:"close,omitempty" title:"close"`

	// The requests below go only to ends in pods. For ends on nodes of this machine, the testbed does the work of these
	// requests.

	Direct *direction `json:"direct,omitempty" title:"route packets for the peers into the tunnel"`
	Undo   *struct{}  `json:"undo,omitempty" title:"route packets for the peers past the tunnel"`
	Send   *sending   `json:"send,omitempty" title:"send a marker"`    // the Go type of the response is sent
	Answer *struct{}  `json:"answer,omitempty" title:"answer markers"` // its response is a bool: whether the tunnel's interface exists
}

// String returns the title of the request.
func (r request) String() string {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return v.Type().Field(i).Tag.Get("title")
		}
	}
	return "an empty request"
}

type rekeying struct {
	Own   Key    `json:"own"`
	Peers []Peer `json:"peers"`
}

// direction asks the helper to route packets for the peers into the tunnel, except for the tunnel's own packets.
type direction struct {
	Device string       `json:"device"` // interface of the tunnel; "": the kernel encrypts by policy
	Peers  []netip.Addr `json:"peers"`  // addresses of the peers' pods
	// Service is the service's address. Packets for Service go to Server, the address of the server's pod. An invalid
	// Service: no packets are redirected.
	Service netip.Addr `json:"service"`
	Server  netip.Addr `json:"server"`
}

// sending asks the helper to send a marker as one UDP datagram.
type sending struct {
	To     netip.Addr    `json:"to"`
	Marker string        `json:"marker"`
	Limit  time.Duration `json:"limit"`           // timeout of the answer
	Watch  bool          `json:"watch,omitempty"` // true if the pod's interfaces are watched, which needs CAP_NET_RAW
}

type sent struct {
	Arrived bool `json:"arrived"`
	Wire    int  `json:"wire"`   // number of frames with the marker on interfaces other than the tunnel's
	Tunnel  int  `json:"tunnel"` // number of frames with the marker on the tunnel's interface
}
