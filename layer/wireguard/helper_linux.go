package wireguard

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.zx2c4.com/wireguard/conn"
	wgdevice "golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/testbed/orders"
)

// order is one line to the helper; exactly one member is set.
type order struct {
	Open    *openOrder  `json:"open,omitempty"`
	Rekey   *rekeyOrder `json:"rekey,omitempty"`
	Traffic *struct{}   `json:"traffic,omitempty"`
}

// openOrder asks for the interface, without a key or a peer.
type openOrder struct {
	MTU  int    `json:"mtu"`
	Port uint16 `json:"port"`
}

// rekeyOrder asks to forget all that was agreed and to begin anew.
type rekeyOrder struct {
	Private wgtypes.Key `json:"private"`
	Peers   []peer      `json:"peers"`
}

// String names the order without what is in it.
func (o order) String() string {
	switch {
	case o.Open != nil:
		return "open"
	case o.Rekey != nil:
		return "set key and peers"
	default:
		return "read the counters"
	}
}

// Helper is the main function of the process that runs wireguard-go on a node.
// It serves orders from standard input until that ends.
func Helper(ctx context.Context) error {
	h := &helper{}
	defer func() {
		if h.device != nil {
			h.device.Close()
		}
	}()
	return orders.Main(ctx, h.obey)
}

// helper runs one device in the network namespace that it was started in.
type helper struct {
	device *wgdevice.Device
}

// obey does what a line orders.
func (h *helper) obey(_ context.Context, line []byte) (any, error) {
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	if o.Open != nil {
		return nil, h.open(*o.Open)
	}
	if h.device == nil {
		return nil, errors.New("the tunnel is not open")
	}
	switch {
	case o.Rekey != nil:
		return nil, h.rekey(*o.Rekey)
	case o.Traffic != nil:
		text, err := h.device.IpcGet()
		if err != nil {
			return nil, err
		}
		return parseTraffic(text)
	}
	return nil, errors.New("an order that says nothing")
}

// open makes the interface and switches it on.
func (h *helper) open(o openOrder) error {
	if h.device != nil {
		return errors.New("the tunnel is open already")
	}
	t, err := tun.CreateTUN(device, o.MTU)
	if err != nil {
		return fmt.Errorf("make the interface %s: %w", device, err)
	}
	h.device = wgdevice.NewDevice(t, conn.NewDefaultBind(), wgdevice.NewLogger(wgdevice.LogLevelError, ""))
	// The UDP socket is opened here, before the interface is up.
	if err := errors.Join(h.device.IpcSet(fmt.Sprintf("listen_port=%d\n", o.Port)), h.device.Up()); err != nil {
		return err
	}
	return switchOn()
}

// rekey sets the private key and the peers, in the configuration language of
// https://www.wireguard.com/xplatform/. The old peers go first: they would keep
// the handshakes that they have begun, and wait before they begin others.
func (h *helper) rekey(o rekeyOrder) error {
	var b strings.Builder
	fmt.Fprintln(&b, "replace_peers=true")
	fmt.Fprintf(&b, "private_key=%s\n", hex.EncodeToString(o.Private[:]))
	for _, p := range o.Peers {
		fmt.Fprintf(&b, "public_key=%s\n", hex.EncodeToString(p.Public[:]))
		fmt.Fprintf(&b, "endpoint=%s\n", p.Endpoint)
		fmt.Fprintf(&b, "allowed_ip=%s\n", p.Allowed)
	}
	return h.device.IpcSet(b.String())
}

// parseTraffic adds up the counters in the answer to a "get".
func parseTraffic(text string) (traffic, error) {
	var sum traffic
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		var counter *uint64
		switch name {
		case "tx_bytes":
			counter = &sum.Sent
		case "rx_bytes":
			counter = &sum.Received
		default:
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(value, "%d", &n); err != nil {
			return traffic{}, fmt.Errorf("counter %q: %w", strings.TrimSpace(line), err)
		}
		*counter += n
	}
	return sum, nil
}
