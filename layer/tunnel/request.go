package tunnel

import (
	"net/netip"
	"time"
)

// request is one line to the helper at an end; exactly one member is set. The helper does what the member
// says in its own network namespace.
type request struct {
	Kernel  *struct{} `json:"kernel,omitempty"`  // answered by what the kernel lacks to encrypt, "" for nothing
	Open    *Opening  `json:"open,omitempty"`    // answered by an Opened
	Ready   *struct{} `json:"ready,omitempty"`   // answered by the version; the daemon, if there is one, was started
	Rekey   *rekeying `json:"rekey,omitempty"`   // see Engine.Rekey
	Connect *struct{} `json:"connect,omitempty"` // see Engine.Connect
	Traffic *struct{} `json:"traffic,omitempty"` // answered by a Traffic
	Close   *struct{} `json:"close,omitempty"`   // takes the end away, if it is open

	// The rest is for pods. On nodes of this machine the testbed does the like.

	Direct *direction `json:"direct,omitempty"`
	Undo   *struct{}  `json:"undo,omitempty"`   // takes Direct back, if there was one
	Send   *sending   `json:"send,omitempty"`   // answered by a sent
	Answer *struct{}  `json:"answer,omitempty"` // answers markers from now on; answered by whether the tunnel's interface is there
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
		return "lead what goes to the peers into the tunnel"
	case r.Undo != nil:
		return "lead it past the tunnel"
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

// direction leads what programs in the pod send to the peers into the tunnel, but for the tunnel's own packets.
type direction struct {
	Device string       `json:"device"` // "": the kernel encrypts by policy
	Peers  []netip.Addr `json:"peers"`  // of pods
	// Service is an address that stands for that of the pod Server; invalid for none.
	Service netip.Addr `json:"service"`
	Server  netip.Addr `json:"server"`
}

// sending is a marker to be sent as one UDP datagram.
type sending struct {
	To     netip.Addr    `json:"to"`
	Marker string        `json:"marker"`
	Limit  time.Duration `json:"limit"`           // how long to wait for the answer
	Watch  bool          `json:"watch,omitempty"` // watch the pod's interfaces, which takes CAP_NET_RAW
}

// sent is what became of a marker.
type sent struct {
	Arrived bool `json:"arrived"`
	Wire    int  `json:"wire"`   // frames with the marker on interfaces other than the tunnel's
	Tunnel  int  `json:"tunnel"` // frames with the marker on the tunnel's interface
}
