package wireguard

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// routes is the number of the routing table that leads into the tunnel, as wg-quick(8) has it.
	routes = 51820
	// table is the name of the rule of nftables for the service's address.
	table = "tare-wireguard"
	// wireRule and tunnelRule are the places of the routing rules, before that of the table main.
	wireRule, tunnelRule = 32000, 32001
)

// install leads what goes to the peers into the tunnel. Packets from WireGuard's port to
// WireGuard's port are of the tunnel itself, and go over the wire. wg-quick(8) tells them by a mark;
// the ports are known to the check of an arriving packet's source address, too (rp_filter),
// where marks are only with a setting that a container may not write.
func (o directOrder) install() error {
	if err := undirect(); err != nil {
		return err
	}
	link, err := netlink.LinkByName(device)
	if err != nil {
		return fmt.Errorf("interface %s: %w", device, err)
	}
	lead := o.Peers
	if o.Service.IsValid() {
		// What is sent to it is meant for the server from the beginning, with the tunnel's MTU.
		lead = append(lead[:len(lead):len(lead)], o.Service)
	}
	families := map[int]bool{}
	for _, a := range lead {
		families[family(a)] = true
		route := netlink.Route{LinkIndex: link.Attrs().Index, Table: routes, Dst: alone(a), Scope: netlink.SCOPE_LINK}
		if err := netlink.RouteReplace(&route); err != nil {
			return fmt.Errorf("route to %s: %w", a, err)
		}
	}
	for family := range families {
		for _, rule := range rules(family) {
			if err := netlink.RuleAdd(rule); err != nil {
				return fmt.Errorf("routing %s: %w", rule, err)
			}
		}
	}
	if !o.Service.IsValid() {
		return nil
	}
	return o.translate()
}

func family(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

// alone is the network of one address.
func alone(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// rules are "ipproto udp sport 51820 dport 51820 lookup main" and "lookup 51820".
func rules(family int) []*netlink.Rule {
	wire, tunnel := netlink.NewRule(), netlink.NewRule()
	wire.Family, tunnel.Family = family, family
	wire.Priority, tunnel.Priority = wireRule, tunnelRule
	wire.Table, tunnel.Table = unix.RT_TABLE_MAIN, routes
	wire.IPProto = unix.IPPROTO_UDP
	wire.Sport, wire.Dport = netlink.NewRulePortRange(listenPort, listenPort), netlink.NewRulePortRange(listenPort, listenPort)
	return []*netlink.Rule{wire, tunnel}
}

// nftTable is where the translation is.
func nftTable(of nftables.TableFamily) *nftables.Table {
	return &nftables.Table{Family: of, Name: table}
}

// translate sends what goes to the service's address to the server: "ip daddr SERVICE dnat to
// SERVER", on any port. In a pod without a tunnel its node does that.
func (o directOrder) translate() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	of, offset, nat := nftables.TableFamilyIPv4, uint32(16), uint32(unix.NFPROTO_IPV4) // of the destination in the header
	if o.Service.Is6() {
		of, offset, nat = nftables.TableFamilyIPv6, 24, unix.NFPROTO_IPV6
	}
	t := conn.AddTable(nftTable(of))
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

// undirect removes all that install made, as far as it is there.
func undirect() error {
	var errs []error
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		for _, rule := range rules(family) {
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
		conn.DelTable(nftTable(of))
		if err := conn.Flush(); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EAFNOSUPPORT) {
			errs = append(errs, fmt.Errorf("nftables: remove the table %s: %w", table, err))
		}
	}
	return errors.Join(errs...)
}
