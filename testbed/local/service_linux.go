package local

import (
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// addService makes the ClusterIP on the client's node: what pods send there is
// redirected to the server pod by destination NAT before it is routed, as
// kube-proxy does it. Ports stay as they are.
func addService(node *space) error { return node.thread.do(addRules) }

// addRules works in the namespace of the calling thread.
func addRules() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "service"})
	chain := conn.AddChain(&nftables.Chain{
		Name: "prerouting", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest,
	})
	for _, protocol := range []byte{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: redirect(protocol)})
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables destination NAT (does the kernel have nf_tables and nft_nat?): %w", err)
	}
	return nil
}

// redirect is "ip daddr SERVICE PROTOCOL dport FIRST-LAST dnat to SERVER".
func redirect(protocol byte) []expr.Any {
	const (
		destinationOffset = 16 // of the address in the IPv4 header
		portOffset        = 2  // of the destination port in the TCP and UDP headers
	)
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: 4},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: serviceAddress.AsSlice()},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{protocol}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: portOffset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpGte, Register: 1, Data: binaryutil.BigEndian.PutUint16(firstPort)},
		&expr.Cmp{Op: expr.CmpOpLte, Register: 1, Data: binaryutil.BigEndian.PutUint16(lastPort)},
		&expr.Immediate{Register: 1, Data: podAddress[1].AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1},
	}
}
