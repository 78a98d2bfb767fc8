package wireguard

import (
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"golang.zx2c4.com/wireguard/conn"
	wgdevice "golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"tare/internal/layer/tunnel"
)

// goEngine is an end that uses wireguard-go in this process.
type goEngine struct{ device *wgdevice.Device }

// openOwn creates the interface of wireguard-go. It opens the UDP socket before the interface is up.
func openOwn(o tunnel.Opening) (tunnel.Engine, error) {
	t, err := tun.CreateTUN(device, o.MTU)
	if err != nil {
		return nil, fmt.Errorf("make the interface %s: %w", device, err)
	}
	d := wgdevice.NewDevice(t, conn.NewDefaultBind(), wgdevice.NewLogger(wgdevice.LogLevelError, ""))
	if err := errors.Join(d.IpcSet(fmt.Sprintf("listen_port=%d\n", port)), d.Up()); err != nil {
		d.Close()
		return nil, err
	}
	return goEngine{d}, nil
}

// Rekey sets the private key and the peers, in the configuration language of
// https://www.wireguard.com/xplatform/. It removes the old peers first. Otherwise an old peer would keep a
// handshake that it has started, and wait before it starts a new one.
func (g goEngine) Rekey(own tunnel.Key, peers []tunnel.Peer) error {
	var b strings.Builder
	fmt.Fprintln(&b, "replace_peers=true")
	fmt.Fprintf(&b, "private_key=%s\n", hex.EncodeToString(own[:]))
	for _, p := range peers {
		fmt.Fprintf(&b, "public_key=%s\n", hex.EncodeToString(p.Key[:]))
		fmt.Fprintf(&b, "endpoint=%s\n", p.Endpoint(port))
		for _, behind := range p.Behind {
			fmt.Fprintf(&b, "allowed_ip=%s\n", behind)
		}
	}
	return g.device.IpcSet(b.String())
}

// Connect does nothing: the first packets make the handshakes.
func (g goEngine) Connect() error { return nil }

// Traffic returns the interface's counters, summed over all peers.
func (g goEngine) Traffic() (tunnel.Traffic, error) {
	text, err := g.device.IpcGet()
	if err != nil {
		return tunnel.Traffic{}, err
	}
	return parseTraffic(text)
}

// Ready returns the version of the wireguard-go that is part of this program.
func (g goEngine) Ready() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.zx2c4.com/wireguard" {
				return "wireguard-go " + m.Version, nil
			}
		}
	}
	return "wireguard-go of unknown version", nil
}

// Close removes the interface.
func (g goEngine) Close() error {
	g.device.Close()
	return nil
}

// parseTraffic returns the sum of the counters in wireguard-go's answer to "get".
func parseTraffic(text string) (tunnel.Traffic, error) {
	var sum tunnel.Traffic
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		counter := map[string]*uint64{"tx_bytes": &sum.Sent, "rx_bytes": &sum.Received}[name]
		if counter == nil {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(value, "%d", &n); err != nil {
			return tunnel.Traffic{}, fmt.Errorf("counter %q: %w", strings.TrimSpace(line), err)
		}
		*counter += n
	}
	return sum, nil
}
