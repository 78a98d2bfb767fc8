package wireguard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/testbed"
	"tare/testbed/orders"
)

// userspaceTunnel is an end run by wireguard-go in a process on the node: this
// program started as the layer's helper. Keys appear nowhere but in the orders to it.
type userspaceTunnel struct {
	end    end
	helper *orders.Helper
}

// openUserspace starts the helper on the node and has it open the tunnel.
func openUserspace(ctx context.Context, site testbed.Site, e end) (tunnel, error) {
	t := &userspaceTunnel{end: e}
	var err error
	if t.helper, err = orders.Start(ctx, site, e.node.Place(), kind); err != nil {
		return nil, fmt.Errorf("%s: start wireguard-go: %w", e.node.Place(), err)
	}
	_, err = t.ask(ctx, order{Open: &openOrder{MTU: e.node.MTU() - overhead, Port: listenPort}})
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoTUN, err)
	} else {
		err = t.rekey(ctx, e.private)
	}
	if err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

// ask gives an order and waits for the answer.
func (t *userspaceTunnel) ask(ctx context.Context, o order) (sum traffic, err error) {
	var into any
	if o.Traffic != nil {
		into = &sum
	}
	if err := t.helper.Ask(ctx, o, into); err != nil {
		return sum, fmt.Errorf("%s: wireguard-go: %s: %w", t.end.node.Place(), o, err)
	}
	return sum, nil
}

func (t *userspaceTunnel) describe() string { return "userspace (wireguard-go " + version() + ")" }

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

func (t *userspaceTunnel) cpu() (time.Duration, bool, error) {
	used, err := t.helper.CPU()
	return used, true, err
}

// close ends the process; with it goes the interface.
func (t *userspaceTunnel) close(ctx context.Context) error {
	if err := t.helper.Close(ctx); err != nil {
		return fmt.Errorf("%s: wireguard-go: %w", t.end.node.Place(), err)
	}
	return nil
}
