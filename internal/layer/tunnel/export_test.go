package tunnel

import (
	"context"
	"errors"

	"tare/internal/layer"
	"tare/internal/testbed"
)

func (p *Protocol) OnNodes(ctx context.Context, site testbed.Site, wanted Implementation) (*Tunnels, error) {
	return p.onNodes(ctx, site, wanted)
}

func (p *Protocol) AskForSidecars(site testbed.Site, sidecars testbed.Sidecars) (*Tunnels, error) {
	return p.askForSidecars(site, sidecars)
}

func (p *Protocol) Find(ctx context.Context, which Implementation) testbed.Finding {
	return p.find(ctx, which)
}

func (t *Tunnels) Proofs() []layer.Check { return t.proofs }
func (t *Tunnels) Prove(ctx context.Context) ([]layer.Check, error) {
	return t.prove(ctx, t.site)
}
func (t *Tunnels) Through(ctx context.Context, did layer.Did) ([]layer.Check, error) {
	return t.through(ctx, did)
}
func (t *Tunnels) Costs() ([]layer.Cost, error)                       { return t.costs() }
func (t *Tunnels) Down(ctx context.Context) error                     { return t.down(ctx) }
func (t *Tunnels) Lead(ctx context.Context, on bool) error            { return t.lead(ctx, on) }
func (t *Tunnels) Settle(ctx context.Context, w Implementation) error { return t.settle(ctx, w) }
func (t *Tunnels) Raise(ctx context.Context, w Implementation) error  { return t.raise(ctx, w) }
func (t *Tunnels) KillHelper(i int) error                             { return t.ends[i].helper.Kill() }
func (t *Tunnels) KillDaemon(i int) error                             { return t.ends[i].daemon.Kill() }
func (t *Tunnels) CloseEnd(ctx context.Context, i int) error {
	e := t.ends[i]
	err := e.ask(ctx, request{Close: &struct{}{}}, nil)
	if e.daemon != nil {
		err = errors.Join(err, e.daemon.Kill())
		_, _ = e.daemon.Wait()
	}
	return err
}
func (t *Tunnels) ByKernel() bool        { return t.ends[0].kernel }
func (t *Tunnels) Version() string       { return t.ends[0].version }
func (t *Tunnels) Nodes() []testbed.Node { return t.nodes }
func (t *Tunnels) Key(i int) Key         { return t.ends[i].key }
func (t *Tunnels) Ends() int             { return len(t.ends) }

// Marker sends a marker between two pods.
func (t *Tunnels) Marker(ctx context.Context, from, to testbed.Place) (arrived bool, clear int, err error) {
	m, err := t.sendMarker(ctx, way{from, to, arrival})
	return m.arrived, m.clear, err
}
