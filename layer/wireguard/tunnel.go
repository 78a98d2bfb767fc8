package wireguard

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/testbed"
)

// tunnel is one end of a tunnel, on one node.
type tunnel interface {
	// describe names the implementation: "userspace (wireguard-go …)".
	describe() string
	// rekey gives the end another private key and makes it forget what it has
	// agreed with its peer, so that the next packet begins a new handshake.
	rekey(ctx context.Context, private wgtypes.Key) error
	// traffic reads the counters of the end.
	traffic(ctx context.Context) (traffic, error)
	// cpu is the CPU time used by a process of the end's own, if it has one.
	cpu() (used time.Duration, own bool, err error)
	// close takes the end away.
	close(ctx context.Context) error
}

// opener opens one end.
type opener func(ctx context.Context, site testbed.Site, e end) (tunnel, error)

// traffic is what went through a tunnel, in bytes with WireGuard's own headers.
type traffic struct {
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// end is the configuration of one end of a tunnel.
type end struct {
	node    testbed.Node
	private wgtypes.Key
	peer    peer
}

// peer is the other end as this end knows it.
type peer struct {
	Public   wgtypes.Key    `json:"public"`
	Endpoint netip.AddrPort `json:"endpoint"`
	Allowed  netip.Prefix   `json:"allowed"` // addresses behind it
}

// makeEnds gives two nodes fresh keys and makes them peers of each other.
// Keepalives stay off, so that an idle tunnel sends nothing.
func makeEnds(nodes [2]testbed.Node) ([2]end, error) {
	var ends [2]end
	for i, node := range nodes {
		private, err := wgtypes.GeneratePrivateKey()
		if err != nil {
			return ends, fmt.Errorf("make a key: %w", err)
		}
		ends[i] = end{node: node, private: private}
	}
	for i := range ends {
		other := ends[1-i]
		ends[i].peer = peer{
			Public:   other.private.PublicKey(),
			Endpoint: netip.AddrPortFrom(other.node.Address(), listenPort),
			Allowed:  other.node.PodNetwork(),
		}
	}
	return ends, nil
}
