package ipsec

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/strongswan/govici/vici"
	"github.com/vishvananda/netlink"

	"tare/internal/layer/tunnel"
	"tare/internal/lists"
	"tare/internal/run/machine/owned"
)

const daemon = "charon-systemd" // the variant of strongSwan's daemon that needs no file below /run

// config is the template of the daemon's configuration: encrypting plugin ("": the kernel), priority of its routes,
// socket for commands. allow_peer_ts allows packets to the peer's own address.
const config = `charon-systemd {
  load = random nonce openssl kdf %s kernel-netlink socket-default vici
  routing_table_prio = %d
  install_virtual_ip = no
  retransmit_tries = 2
  retransmit_timeout = 1
  plugins {
    kernel-libipsec { allow_peer_ts = yes }
    vici { socket = unix://%s }
  }
}
`

// lastRule is the priority of the routing rule for kernel-libipsec's routes. The kernel applies this rule last, since
// its number is the largest.
const lastRule = 40000

const longest = 1400 // MTU of kernel-libipsec's interface; kernel-libipsec reads no larger packets

const limit = 8 * time.Second // the timeout of one command to the daemon, and of the daemon's start

// engine is one end of the tunnels: a daemon with its configuration.
type engine struct {
	tunnel.Opening
	dir   string
	peers []tunnel.Peer
}

// lacks returns an error if the kernel does not accept a security association of ESP.
func lacks() error {
	state := &netlink.XfrmState{Src: net.IPv4(192, 0, 2, 1), Dst: net.IPv4(192, 0, 2, 2), Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
		Spi: 0x7a7e7a7e, Aead: &netlink.XfrmStateAlgo{Name: "rfc4106(gcm(aes))", Key: make([]byte, 20), ICVLen: 128}}
	if err := netlink.XfrmStateAdd(state); err != nil {
		return fmt.Errorf("add a security association of ESP: %w", err)
	}
	return netlink.XfrmStateDel(state)
}

func open(o tunnel.Opening) (tunnel.Engine, tunnel.Opened, error) {
	opened := tunnel.Opened{Device: device, MTU: min(o.MTU, longest)}
	path, err := exec.LookPath(daemon)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + daemon)
	}
	if err != nil {
		return nil, opened, fmt.Errorf("strongSwan's daemon: %w", err)
	}
	if _, err := netlink.LinkByName(device); err == nil && !o.Kernel { // if this name is taken, strongSwan's daemon silently uses another name
		return nil, opened, fmt.Errorf("make the interface %s: %w", device, fs.ErrExist)
	}
	temporary := os.TempDir()
	if len(temporary) > 40 { // a socket's path may have 107 bytes at most
		temporary = "/tmp"
	}
	e := &engine{Opening: o}
	e.MTU = opened.MTU
	if e.dir, err = owned.Dir(temporary, "ipsec"); err != nil {
		return nil, opened, err
	}
	encrypts := "kernel-libipsec"
	if o.Kernel {
		encrypts, opened.Device, opened.MTU = "", "", o.MTU
	}
	file := filepath.Join(e.dir, "strongswan.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, encrypts, lastRule, e.socket()), 0o600); err != nil {
		return nil, opened, errors.Join(err, e.Close())
	}
	opened.Daemon, opened.Env = []string{path}, []string{"STRONGSWAN_CONF=" + file}
	return e, opened, nil
}

func (e *engine) socket() string { return filepath.Join(e.dir, "vici") }

// Close removes the configuration and the daemon's routing rule. The interface ends with the daemon.
func (e *engine) Close() error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		rule := netlink.NewRule()
		rule.Family, rule.Priority, rule.Table = family, lastRule, 220
		_ = netlink.RuleDel(rule) // fails for an address family that the system does not have, which is no problem
	}
	return owned.Remove(e.dir)
}

type message map[string]any // a message of the daemon's protocol: names with texts, lists of texts, or messages

func (e *engine) call(command string, in message) (*vici.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	session, err := vici.NewSession(vici.WithAddr("unix", e.socket()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }()
	m, err := vici.MarshalMessage(in)
	if err == nil {
		m, err = session.Call(ctx, command, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return m, nil
}

func (e *engine) Ready() (program string, err error) {
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var about *vici.Message
		if about, err = e.call("version", nil); err == nil {
			program = fmt.Sprintf("strongSwan %v", about.Get("version"))
		}
		if err == nil || time.Since(begun) > limit {
			break
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("strongSwan's daemon does not answer within %v: %w", limit, err)
	case e.Kernel:
		return "Linux " + tunnel.Release() + ", " + program, nil
	}
	link, err := netlink.LinkByName(device)
	if err == nil {
		err = netlink.LinkSetMTU(link, e.MTU)
	}
	if err != nil {
		return "", fmt.Errorf("find the interface %s of kernel-libipsec: %w", device, err)
	}
	return program + ", kernel-libipsec", tunnel.SwitchOn(device, e.Own)
}

// Rekey ends all security associations, and then sets the new key and the new peers.
func (e *engine) Rekey(own tunnel.Key, peers []tunnel.Peer) error {
	for i := range e.peers {
		_, _ = e.call("terminate", message{"ike": name(i), "force": "yes", "timeout": "1000"}) // ignores errors: there may be no association to end
		if _, err := e.call("unload-conn", message{"name": name(i)}); err != nil {
			return err
		}
	}
	e.peers = nil
	if _, err := e.call("clear-creds", nil); err != nil {
		return err
	}
	if _, err := e.call("load-shared", message{"id": "tare", "type": "IKE", "data": hex.EncodeToString(own[:])}); err != nil {
		return err
	}
	for i, p := range peers {
		if _, err := e.call("load-conn", message{name(i): e.connection(p)}); err != nil {
			return err
		}
		e.peers = peers[:i+1]
	}
	return nil
}

func name(peer int) string { return "peer-" + strconv.Itoa(peer) }

// connection returns strongSwan's configuration for a peer. Rekeying is off in it, so that no key changes during a
// trial.
func (e *engine) connection(p tunnel.Peer) message {
	start := "none"
	if e.Kernel { // a trap keeps every packet from leaving in clear before there is a security association
		start = "trap"
	}
	return message{
		"version": "2", "mobike": "no", "encap": "yes", "rekey_time": "0",
		"local_addrs": []string{e.Address.String()}, "remote_addrs": []string{p.Address.String()},
		"proposals": []string{"aes128gcm16-prfsha256-x25519"},
		"local":     message{"auth": "psk"}, "remote": message{"auth": "psk"},
		"children": message{"net": message{
			"local_ts": lists.Map(e.Behind, netip.Prefix.String), "remote_ts": lists.Map(p.Behind, netip.Prefix.String),
			"esp_proposals": []string{"aes128gcm16-x25519"},
			"start_action":  start, "rekey_time": "0",
		}},
	}
}

// Connect makes security associations with those peers whose field Peer.Connect is set: this end starts the connection
// to them.
func (e *engine) Connect() error {
	for i, p := range e.peers {
		if !p.Connect {
			continue
		}
		m := message{"ike": name(i), "child": "net", "timeout": strconv.FormatInt(limit.Milliseconds()*3/4, 10)}
		if _, err := e.call("initiate", m); err != nil {
			return fmt.Errorf("agree on keys with %s: %w", p.Address, err)
		}
	}
	return nil
}

// Traffic returns the counters of the daemon's interface. If the kernel encrypts, it returns those of the kernel's
// security associations.
func (e *engine) Traffic() (sum tunnel.Traffic, err error) {
	if !e.Kernel {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return sum, fmt.Errorf("the interface %s: %w", device, err)
		}
		about := link.Attrs().Statistics
		return tunnel.Traffic{Sent: about.TxBytes, Received: about.RxBytes}, nil
	}
	states, err := netlink.XfrmStateList(netlink.FAMILY_ALL)
	for _, sa := range states {
		if sa.Src.Equal(e.Address.AsSlice()) {
			sum.Sent += sa.Statistics.Bytes
		} else {
			sum.Received += sa.Statistics.Bytes
		}
	}
	return sum, err
}
