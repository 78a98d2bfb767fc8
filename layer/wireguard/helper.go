package wireguard

import (
	"net/netip"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// order is one line to the helper; exactly one member is set. What a member says is done in
// the helper's network namespace.
type order struct {
	Kernel  *struct{}   `json:"kernel,omitempty"` // answered by a kernelAnswer
	Open    *openOrder  `json:"open,omitempty"`
	Rekey   *rekeyOrder `json:"rekey,omitempty"`
	Traffic *struct{}   `json:"traffic,omitempty"` // answered by a traffic
	Close   *struct{}   `json:"close,omitempty"`   // takes the interface away, if there is one

	// The rest is for pods: on nodes that are network namespaces of this machine, the testbed
	// does the like.

	Direct *directOrder `json:"direct,omitempty"`
	Undo   *struct{}    `json:"undo,omitempty"` // of Direct; nothing may be there
	Send   *sendOrder   `json:"send,omitempty"` // answered by a sent
	// Answer asks to answer markers from now on, at probePort. It is answered by whether there is an
	// interface of the layer's name.
	Answer *struct{} `json:"answer,omitempty"`
}

// String names the order without what is in it.
func (o order) String() string {
	switch {
	case o.Kernel != nil:
		return "ask for the kernel's WireGuard"
	case o.Open != nil:
		return "open"
	case o.Rekey != nil:
		return "set key and peers"
	case o.Close != nil:
		return "close"
	case o.Direct != nil:
		return "lead what goes to the peers into the tunnel"
	case o.Undo != nil:
		return "lead it past the tunnel"
	case o.Answer != nil:
		return "answer markers"
	case o.Send != nil:
		return "send a marker"
	default:
		return "read the counters"
	}
}

// kernelAnswer says whether the kernel has WireGuard; if not, why.
type kernelAnswer struct {
	Lacks   string `json:"lacks,omitempty"`
	Release string `json:"release"` // of the kernel, as uname -r prints it
}

// openOrder asks for the interface, without a key or a peer.
type openOrder struct {
	Kernel bool   `json:"kernel,omitempty"` // the kernel's, and not wireguard-go's
	MTU    int    `json:"mtu,omitempty"`    // of the interface; 0: that of the pod's less the overhead
	Port   uint16 `json:"port"`
	// Own are the addresses of the pod, which the interface gets as well: what enters it, and
	// what rules redirect that leaves it, needs one. On nodes it has none.
	Own []netip.Addr `json:"own,omitempty"`
}

// rekeyOrder asks to forget all that was agreed and to begin anew.
type rekeyOrder struct {
	Private wgtypes.Key `json:"private"`
	Peers   []peer      `json:"peers"`
}

// directOrder leads what programs in the pod send to the peers into the tunnel, but for the
// packets of WireGuard itself.
type directOrder struct {
	Peers []netip.Addr `json:"peers"` // of pods
	// Service is an address that stands for that of the pod Server; invalid: there is none.
	Service netip.Addr `json:"service"`
	Server  netip.Addr `json:"server"`
}

// sendOrder asks to send a marker as one UDP datagram.
type sendOrder struct {
	To     netip.Addr    `json:"to"`
	Marker string        `json:"marker"`
	Limit  time.Duration `json:"limit"`           // within which it should be answered
	Watch  bool          `json:"watch,omitempty"` // the interfaces of the pod, which takes CAP_NET_RAW
}

// sent is what became of a marker.
type sent struct {
	Arrived bool `json:"arrived"`
	Wire    int  `json:"wire"`   // frames that show it, on interfaces other than the tunnel's
	Tunnel  int  `json:"tunnel"` // and on the tunnel's
}
