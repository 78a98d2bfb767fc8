package tunnel

import (
	"net/netip"
	"time"
)

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
