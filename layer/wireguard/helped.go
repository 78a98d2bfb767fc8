package wireguard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/layer"
	"tare/testbed"
	"tare/testbed/orders"
)

// userspaceTunnel is an end that a helper runs, this program started again: by wireguard-go in
// a process on the node, or in a pod by either implementation. Keys appear nowhere but in the
// orders to it.
type userspaceTunnel struct {
	end     end
	helper  *orders.Helper
	release string // of the kernel whose WireGuard it is; "": wireguard-go
}

// openHelped starts the helper on the node and has it open the tunnel.
func openHelped(ctx context.Context, site testbed.Site, e end) (tunnel, error) {
	t := &userspaceTunnel{end: e}
	var err error
	if t.helper, err = orders.Start(ctx, site, e.place, kind); err != nil {
		return nil, fmt.Errorf("%s: start wireguard-go: %w", e.place, err)
	}
	if err := t.open(ctx, openOrder{MTU: e.mtu - overhead, Port: listenPort}); err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

// open has the helper make the interface, and gives it key and peers.
func (t *userspaceTunnel) open(ctx context.Context, o openOrder) error {
	_, err := t.ask(ctx, order{Open: &o})
	switch {
	case err == nil:
		return t.rekey(ctx, t.end.private)
	case o.Kernel:
		return err
	default:
		return fmt.Errorf("%w: %w", errNoTUN, err)
	}
}

// ask gives an order and waits for the answer.
func (t *userspaceTunnel) ask(ctx context.Context, o order) (sum traffic, err error) {
	var into any
	if o.Traffic != nil {
		into = &sum
	}
	if err := t.helper.Ask(ctx, o, into); err != nil {
		return sum, fmt.Errorf("%s: %s: %s: %w", t.end.place, t.program(), o, err)
	}
	return sum, nil
}

func (t *userspaceTunnel) program() string {
	if t.release != "" {
		return "the kernel's WireGuard"
	}
	return "wireguard-go"
}

func (t *userspaceTunnel) describe() string {
	if t.release != "" {
		return describeKernel(t.release)
	}
	return string(Userspace) + " (wireguard-go " + version() + ")"
}

func describeKernel(release string) string { return string(Kernel) + " (Linux " + release + ")" }

// version is that of the wireguard-go in this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.zx2c4.com/wireguard" {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

func (t *userspaceTunnel) rekey(ctx context.Context, private wgtypes.Key) error {
	_, err := t.ask(ctx, order{Rekey: &rekeyOrder{Private: private, Peers: t.end.peers}})
	return err
}

func (t *userspaceTunnel) traffic(ctx context.Context) (traffic, error) {
	return t.ask(ctx, order{Traffic: &struct{}{}})
}

// cost is what the process has used. Of a kernel's tunnel it would say nothing.
func (t *userspaceTunnel) cost() (c layer.Cost, own bool, err error) {
	if t.release != "" {
		return c, false, nil
	}
	if c.CPU, err = t.helper.CPU(); err == nil {
		c.Memory, err = t.helper.Memory()
	}
	return c, true, err
}

// close ends the process; with it goes the interface. In a pod the interface goes alone: the process
// is not this end's.
func (t *userspaceTunnel) close(ctx context.Context) error {
	if t.end.node == nil {
		_, err := t.ask(ctx, order{Close: &struct{}{}})
		return err
	}
	if err := t.helper.Close(ctx); err != nil {
		return fmt.Errorf("%s: %s: %w", t.end.place, t.program(), err)
	}
	return nil
}
