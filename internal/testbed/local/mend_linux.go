package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"

	"tare/internal/testbed"
)

var (
	_ testbed.Mender = (*network)(nil)
	_ testbed.Closer = (*site)(nil)
)

// Mend checks that the interfaces, the addresses, the default routes and the service are still as they were
// built. Layers add interfaces and routes, but change no interface of the site itself.
func (n *network) Mend(context.Context) error {
	found, err := n.describe()
	if err != nil {
		return &testbed.Broken{What: err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(n.built)) {
		if found[name] != n.built[name] {
			return &testbed.Broken{What: fmt.Sprintf("%s: %s, and was %s", name, cmp.Or(found[name], "gone"), n.built[name])}
		}
	}
	return nil
}

// describe returns a description of each part of the network, by name.
func (n *network) describe() (map[string]string, error) {
	parts := map[string]string{}
	for _, s := range append(n.namespaces(), n.wire) {
		if err := s.describe(parts); err != nil {
			return nil, err
		}
	}
	return parts, n.nodes[0].thread.do(func() error {
		conn, err := nftables.New()
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyIPv4)
		if err != nil {
			return fmt.Errorf("nftables: %w", err)
		}
		for _, c := range chains {
			if c.Table.Name == serviceTable { // layers have their own tables
				parts["service "+c.Name] = "there"
			}
		}
		return nil
	})
}

// describe adds descriptions of the interfaces and the default route to parts, by name.
func (s *netNamespace) describe(parts map[string]string) error {
	links, err := s.LinkList()
	if err != nil {
		return fmt.Errorf("%s: list interfaces: %w", s.name, err)
	}
	for _, link := range links {
		a := link.Attrs()
		addresses, err := s.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return fmt.Errorf("%s: addresses of %s: %w", s.name, a.Name, err)
		}
		state := fmt.Sprintf("number %d, MTU %d, master %d, %s", a.Index, a.MTU, a.MasterIndex, a.Flags&net.FlagUp)
		for _, address := range addresses {
			state += ", " + address.IPNet.String()
		}
		parts["interface "+a.Name+" of the "+s.name] = state
	}
	routes, err := s.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("%s: list routes: %w", s.name, err)
	}
	for _, r := range routes {
		if r.Dst == nil || r.Dst.IP.IsUnspecified() {
			parts["default route of the "+s.name] = strings.TrimSpace(r.Gw.String())
		}
	}
	return nil
}
