package tunnel

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// routes is the number of the routing table that leads into the tunnel. wg-quick(8) uses the same number.
	routes = 51820
	// wireRule and tunnelRule are priorities of two routing rules, which the kernel thus applies before the rule of the
	// routing table main.
	wireRule, tunnelRule = 32000, 32001
)

// install routes packets for the peers into the tunnel, except the tunnel's own, recognised by port. (A mark, as in
// wg-quick(8), would need an rp_filter setting that a container may not write.)
func (p *Protocol) install(d direction) error {
	if err := p.undo(); err != nil {
		return err
	}
	if d.Device != "" {
		if err := p.route(d); err != nil {
			return err
		}
	}
	if !d.Service.IsValid() {
		return nil
	}
	return p.translate(d)
}

func (p *Protocol) route(d direction) error {
	link, err := netlink.LinkByName(d.Device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", d.Device, err)
	}
	lead := d.Peers
	if d.Service.IsValid() { // with this route, connections to the service use the tunnel's MTU from their start
		lead = append(lead[:len(lead):len(lead)], d.Service)
	}
	families := map[int]bool{}
	for _, a := range lead {
		families[family(a)] = true
		route := netlink.Route{LinkIndex: link.Attrs().Index, Table: routes, Dst: singleAddress(a), Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(&route); err != nil {
			return fmt.Errorf("route to %s: %w", a, err)
		}
	}
	for family := range families {
		for _, rule := range p.rules(family) {
			if err := netlink.RuleAdd(rule); err != nil {
				return fmt.Errorf("routing %s: %w", rule, err)
			}
		}
	}
	return nil
}

func family(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

// rules returns the routing rules. Packets with a port of the tunnel at both ends use the main table. All other packets
// use table 51820.
func (p *Protocol) rules(family int) (rules []*netlink.Rule) {
	add := func(priority, table int) *netlink.Rule {
		r := netlink.NewRule()
		r.Family, r.Priority, r.Table = family, priority, table
		rules = append(rules, r)
		return r
	}
	for _, port := range p.Ports {
		wire := add(wireRule, unix.RT_TABLE_MAIN)
		wire.IPProto = unix.IPPROTO_UDP
		wire.Sport, wire.Dport = netlink.NewRulePortRange(uint16(port), uint16(port)), netlink.NewRulePortRange(uint16(port), uint16(port))
	}
	add(tunnelRule, routes)
	return rules
}

func (p *Protocol) table(of nftables.TableFamily) *nftables.Table {
	return &nftables.Table{Family: of, Name: "tare-" + p.Layer}
}

// translate replaces the service's address in packets by the server's, as a pod's node does without a tunnel: "ip
// daddr SERVICE dnat to SERVER".
func (p *Protocol) translate(o direction) error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	of, offset, nat := nftables.TableFamilyIPv4, uint32(16), uint32(unix.NFPROTO_IPV4) // offset of the destination address in the header
	if o.Service.Is6() {
		of, offset, nat = nftables.TableFamilyIPv6, 24, unix.NFPROTO_IPV6
	}
	t := conn.AddTable(p.table(of))
	c := conn.AddChain(&nftables.Chain{Name: "service", Table: t, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest})
	conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: uint32(o.Service.BitLen() / 8)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: o.Service.AsSlice()},
		&expr.Immediate{Register: 1, Data: o.Server.AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: nat, RegAddrMin: 1},
	}})
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables translation of the service's address (does the kernel have nf_tables and nft_nat?): %w", err)
	}
	return nil
}

// undo removes the routing rules and the nftables table of install. It succeeds if there are none.
func (p *Protocol) undo() error {
	var errs []error
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		for _, rule := range p.rules(family) {
			err := netlink.RuleDel(rule)
			if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EAFNOSUPPORT) {
				errs = append(errs, fmt.Errorf("remove routing %s: %w", rule, err))
			}
		}
	}
	for _, of := range []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6} {
		conn, err := nftables.New()
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("nftables: %w", err))...)
		}
		conn.DelTable(p.table(of))
		if err := conn.Flush(); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EAFNOSUPPORT) {
			errs = append(errs, fmt.Errorf("nftables: remove the table of %s: %w", p.Layer, err))
		}
	}
	return errors.Join(errs...)
}
