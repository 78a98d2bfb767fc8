package mtls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"tare/internal/layer"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/local"
)

type active struct {
	Config
	site    surroundings
	ids     identities
	helpers helpers
	remote  bool             // true: the proxies run in sidecars of pods
	at      [2]testbed.Place // places of the proxies, by side
	proxies [2]*proxy
	own     [2]netip.Addr // the proxies' addresses; unset if the kernel chooses the address
	proofs  []layer.Check
	before  [2]counters // the proxies' counters at the beginning of the trial
}

// surroundings holds the site and the testbed's optional interfaces for the layer, such as Wire.
type surroundings struct {
	testbed.Site
	testbed.Network
	testbed.Wire      // to watch the wire; nil if helpers in sidecars watch it
	testbed.Datagrams // nil if helpers in sidecars watch the wire
}

func (s surroundings) Unwrap() testbed.Site { return s.Site }

func surround(site testbed.Site) (surroundings, error) {
	network, ok1 := testbed.As[testbed.Network](site)
	wire, ok2 := testbed.As[testbed.Wire](site)
	courier, ok3 := testbed.As[testbed.Datagrams](site)
	if _, sidecars := testbed.As[testbed.Sidecars](site); !ok1 || !sidecars && (!ok2 || !ok3) {
		return surroundings{}, errors.New("this testbed has no pods whose connections can be redirected to proxies and captured")
	}
	return surroundings{site, network, wire, courier}, nil
}

// Up starts the proxies and redirects connections to them. For proxies in sidecars, Settle does this work.
func (c *Config) Up(ctx context.Context, s *layer.Session) (*layer.Active, error) {
	a, err := c.up(ctx, s.Site)
	if err != nil {
		return nil, err
	}
	up := &layer.Active{Proofs: a.proofs, Before: a.prove, Costs: a.costs, After: a.through, Down: a.down}
	if a.remote {
		up.Settle = func(ctx context.Context) ([]layer.Check, error) {
			err := a.raise(ctx)
			return a.proofs, err
		}
	}
	return up, nil
}

// up puts the layer up at a site. At a site with sidecars, up only requests the sidecars.
func (c *Config) up(ctx context.Context, site testbed.Site) (a *active, err error) {
	a = &active{Config: *c, helpers: helpers{}}
	if a.site, err = surround(site); err != nil {
		return nil, err
	}
	if sidecars, ok := testbed.As[testbed.Sidecars](site); ok {
		return a, a.ask(sidecars)
	}
	for _, s := range []side{clientSide, serverSide} {
		a.at[s] = s.place(a.Placement.One())
	}
	if err := a.raise(ctx); err != nil {
		return nil, errors.Join(err, a.down(context.WithoutCancel(ctx)))
	}
	return a, nil
}

func (a *active) ask(sidecars testbed.Sidecars) (err error) {
	a.remote = true
	want := testbed.Sidecar{Name: kind, Image: a.Image, Capabilities: a.implementation().capabilities}
	for _, s := range []side{clientSide, serverSide} {
		if a.at[s], err = sidecars.AddSidecar(s.pod(), want); err != nil {
			return err
		}
	}
	return nil
}

// raise starts the helpers and the proxies, and redirects the connections.
func (a *active) raise(ctx context.Context) error {
	program := a.implementation()
	path, err := program.program, error(nil) // a sidecar's image has the program on PATH; on this machine, find returns its path
	if !a.remote {
		if path, err = program.find(); err != nil {
			return fmt.Errorf("%w (%s)", err, program.hint)
		}
	}
	if !a.remote && a.redirect(clientSide).User != 0 && os.Getenv(local.UserNamespaceVariable) != "" {
		return fmt.Errorf("%s in a pod switches to another user, but a user namespace has only one: run Tare as root, or choose placement: %s", program.program, node)
	}
	if a.Encrypts() {
		if a.ids, err = issue(a.Key.One()); err != nil {
			return err
		}
	}
	if err := a.helpers.start(ctx, a.site, clientSide.pod(), serverSide.pod(), a.at[clientSide], a.at[serverSide]); err != nil {
		return err
	}
	if a.remote {
		a.site.Wire = &podWire{a.helpers[a.at[clientSide]]}
	}
	if a.Placement.One() == node {
		if err := a.ownAddresses(ctx); err != nil {
			return err
		}
	}
	for _, s := range []side{serverSide, clientSide} {
		if a.proxies[s], err = a.start(ctx, s, path); err != nil {
			return fmt.Errorf("%s: %w", s.part(), err)
		}
	}
	for _, s := range []side{serverSide, clientSide} {
		r := a.redirect(s)
		if err := a.helpers[a.at[s]].Ask(ctx, request{Redirect: &r}, nil); err != nil {
			return fmt.Errorf("%s: %w", a.at[s], err)
		}
	}
	a.proofs, err = a.describe(ctx)
	return err
}

// ownAddresses finds each node's address in the network of its pods. Connections between these addresses take the pods'
// route, for example through a tunnel.
func (a *active) ownAddresses(ctx context.Context) error {
	nodes, ok := testbed.As[testbed.Nodes](a.site.Site)
	if !ok {
		return fmt.Errorf("this testbed has no nodes for proxies (placement: %s)", node)
	}
	for s, node := range nodes.Nodes()[:2] {
		err := a.helpers[node.Place()].Ask(ctx, request{Source: new(node.PodNetwork())}, &a.own[s])
		if err != nil {
			return fmt.Errorf("%s: %w", node.Place(), err)
		}
	}
	return nil
}

func (a *active) redirect(s side) redirect {
	r := redirect{Ports: a.site.Ports(), To: s.listen(), At: a.own[s]}
	switch {
	case s == clientSide:
		r.Addresses = []netip.Addr{a.site.Address(testbed.PodToPod), a.site.Address(testbed.PodToService)}
		r.Own = a.Placement.One() == sidecar
	case a.Placement.One() == node:
		r.Addresses = []netip.Addr{a.site.Address(testbed.PodToPod)}
	}
	if r.Own {
		r.Mark, r.User = mark, a.implementation().user
	}
	return r
}

func (a *active) costs() (costs []layer.Cost, err error) {
	for s, p := range a.proxies {
		cost, err := layer.CostOf(side(s).part(), p.process)
		if err != nil {
			return nil, err
		}
		costs = append(costs, cost)
	}
	return costs, nil
}

func (a *active) down(ctx context.Context) error {
	var errs []error
	for _, where := range a.at {
		if h := a.helpers[where]; h != nil {
			if err := h.Ask(ctx, request{Restore: &struct{}{}}, nil); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", where, err))
			}
		}
	}
	for s, p := range a.proxies {
		if p != nil {
			errs = append(errs, p.end())
			a.proxies[s] = nil
		}
	}
	return errors.Join(append(errs, a.helpers.close(ctx))...)
}

type helpers map[testbed.Place]*helperrpc.Helper

// start starts a helper at each of the places, unless a helper runs there already.
func (h helpers) start(ctx context.Context, site testbed.Site, places ...testbed.Place) error {
	for _, where := range places {
		if h[where] != nil {
			continue
		}
		one, err := helperrpc.Start(ctx, site, where, kind)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		h[where] = one
	}
	return nil
}

func (h helpers) close(ctx context.Context) error {
	var errs []error
	for where, one := range h {
		if err := one.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
		delete(h, where)
	}
	return errors.Join(errs...)
}

func (h helpers) checkRules(ctx context.Context, where testbed.Place, want int) (layer.Check, error) {
	n := 0
	if err := h[where].Ask(ctx, request{Rules: &struct{}{}}, &n); err != nil {
		return layer.Check{}, fmt.Errorf("%s: %w", where, err)
	}
	return layer.Check{Layer: kind, Name: "redirection in the " + string(where),
		Expected: fmt.Sprintf("%d rules", want), Observed: fmt.Sprintf("%d rules", n), OK: n == want}, nil
}
