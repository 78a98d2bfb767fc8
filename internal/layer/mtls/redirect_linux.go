package mtls

import (
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

const table = "tare-mtls" // the name of the nftables table with the layer's rules

// beforeService is the priority of the rules. A node redirects connections before it translates the address
// of a service.
var beforeService = nftables.ChainPriorityRef(*nftables.ChainPriorityNATDest - 1)

// install installs the rules in this network namespace, in place of earlier rules of the layer.
func (r redirect) install() error {
	if err := removeRules(); err != nil {
		return err
	}
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	t := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: table})
	hook := nftables.ChainHookPrerouting
	if r.Own {
		hook = nftables.ChainHookOutput
	}
	c := conn.AddChain(&nftables.Chain{Name: "redirect", Table: t, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: beforeService})
	addresses := r.Addresses
	if len(addresses) == 0 {
		addresses = []netip.Addr{{}}
	}
	for _, address := range addresses {
		for _, port := range r.Ports {
			conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: r.rule(address, port)})
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables redirect (does the kernel have nf_tables and nft_redir?): %w", err)
	}
	return nil
}

// rule returns the nftables rule for one address and port: "meta mark != MARK meta skuid != USER ip daddr
// ADDRESS tcp dport PORT redirect to :TO". If At is valid, the end is "dnat to AT:TO".
func (r redirect) rule(address netip.Addr, port uint16) []expr.Any {
	const (
		destinationOffset = 16 // offset of the destination address in the IPv4 header
		portOffset        = 2  // offset of the destination port in the TCP header
	)
	var e []expr.Any
	except := func(key expr.MetaKey, value uint32) {
		if value != 0 {
			e = append(e, &expr.Meta{Key: key, Register: 1},
				&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(value)})
		}
	}
	except(expr.MetaKeyMARK, r.Mark)
	except(expr.MetaKeySKUID, r.User)
	if address.IsValid() {
		e = append(e, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: address.AsSlice()})
	}
	e = append(e,
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: portOffset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(r.To)},
	)
	if !r.At.IsValid() {
		return append(e, &expr.Redir{RegisterProtoMin: 1})
	}
	return append(e, &expr.Immediate{Register: 2, Data: r.At.AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 2, RegProtoMin: 1})
}

// chains lists the chains of the layer's table, and returns the connection to the kernel.
func chains() (conn *nftables.Conn, own []*nftables.Chain, err error) {
	var all []*nftables.Chain
	if conn, err = nftables.New(); err == nil {
		all, err = conn.ListChainsOfTableFamily(nftables.TableFamilyIPv4)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("nftables: %w", err)
	}
	for _, c := range all {
		if c.Table.Name == table {
			own = append(own, c)
		}
	}
	return conn, own, nil
}

func countRules() (n int, err error) {
	conn, own, err := chains()
	for _, c := range own {
		rules, err := conn.GetRules(c.Table, c)
		if err != nil {
			return 0, fmt.Errorf("nftables: %w", err)
		}
		n += len(rules)
	}
	return n, err
}

func removeRules() error {
	conn, own, err := chains()
	if err != nil || len(own) == 0 {
		return err
	}
	conn.DelTable(own[0].Table)
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables: remove the table %s: %w", table, err)
	}
	return nil
}
