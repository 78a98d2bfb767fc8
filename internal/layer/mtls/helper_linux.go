package mtls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"tare/internal/run/machine/owned"
	"tare/internal/testbed/helperrpc"
	"tare/internal/testbed/sniff"
)

// help is the main function of the helpers, one at each place of the layer. A helper installs the rules, queries the
// proxy, and sends or answers probes.
func help(ctx context.Context) error {
	h := &helper{}
	defer h.unlisten()
	return helperrpc.Main(ctx, h.handle)
}

// helper carries out requests in the network namespace in which it was started.
type helper struct {
	listener   net.Listener
	watch      *sniff.Watch
	outputRead int64 // number of bytes of a proxy's output that have been returned so far
}

func (h *helper) handle(ctx context.Context, o request) (any, error) {
	switch {
	case o.Redirect != nil:
		return nil, o.Redirect.install()
	case o.Restore != nil:
		return nil, removeRules()
	case o.Rules != nil:
		return countRules()
	case o.Source != nil:
		return addressIn(*o.Source)
	case o.Listen != nil:
		return h.listen(o.Listen)
	case o.Unlisten != nil:
		h.unlisten()
		return nil, nil
	case o.Send != nil:
		return o.Send.send(ctx), nil
	case o.Admin != nil:
		return o.Admin.ask(ctx)
	case o.Watch != "":
		return nil, h.watching(o.Watch)
	case o.Unwatch != nil:
		return h.unwatch()
	case o.Become != nil:
		err := o.Become.become()
		fmt.Fprintln(os.Stderr, err) // the proxy was not started, and nobody reads a response
		os.Exit(1)
	case o.Forget != "":
		return nil, owned.Remove(directory(o.Forget))
	case o.Output != "":
		return h.output(outputFile(o.Output))
	}
	return nil, errors.New("an empty request")
}

func addressIn(network netip.Prefix) (netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, err
	}
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil && network.Contains(p.Addr()) {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address in %s", network)
}

// listen starts answering probes on the last free port of the list, and returns this port.
func (h *helper) listen(ports []uint16) (uint16, error) {
	h.unlisten()
	for _, port := range slices.Backward(ports) {
		l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, err
		}
		h.listener = l
		go serve(l)
		return port, nil
	}
	return 0, fmt.Errorf("no port is free for a probe: the ports %v are all in use", ports)
}

func (h *helper) unlisten() {
	if h.listener != nil {
		_ = h.listener.Close()
		h.listener = nil
	}
}

func (o adminRequest) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperrpc.Limit/2)
	defer cancel()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", o.Address)
	}
	if o.Method == "" {
		return o.say(ctx, dial)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, o.Method, "http://proxy"+o.Text, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return string(text), err
}

const longestAnswer = 1 << 20 // the largest number of bytes that are read from a proxy's answer

// say sends a line of text to a proxy and returns the proxy's answer, which ends when the proxy closes the connection.
func (o adminRequest) say(ctx context.Context, dial func(context.Context, string, string) (net.Conn, error)) (string, error) {
	conn, err := dial(ctx, "", "")
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, o.Text+"\n"); err != nil {
		return "", err
	}
	var text bytes.Buffer
	_, err = io.Copy(&text, io.LimitReader(conn, longestAnswer))
	return text.String(), err
}

const probeLimit = 5 * time.Second // the timeout of one probe, which normally takes milliseconds

func directory(name string) string { return filepath.Join(os.TempDir(), filepath.Base(name)) }

func outputFile(name string) string { return directory(name) + ".told" }

// become writes the files of a proxy and replaces this process by the proxy. The proxy thus has a process id that
// the testbed knows.
func (o becomeRequest) become() error {
	path, err := exec.LookPath(o.Args[0])
	if err != nil {
		return err
	}
	dir := directory(o.Dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(o.exec(path, dir), owned.Remove(dir))
}

func (o becomeRequest) write(dir string) error {
	for name, text := range o.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (o becomeRequest) exec(path, dir string) error {
	if err := o.write(dir); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if o.ToFile {
		f, err := os.OpenFile(outputFile(o.Dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(f.Fd()), 1, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, unix.Exec(path, o.Args, os.Environ()))
}

const longestOutput = 64 << 10 // the largest number of bytes of a proxy's output in one response

func (h *helper) output(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, h.outputRead, longestOutput))
	h.outputRead += int64(len(text))
	return string(text), err
}

func (h *helper) watching(pattern string) (err error) {
	if _, err := h.unwatch(); err != nil {
		return err
	}
	if h.watch, err = sniff.Open([]byte(pattern)); err != nil {
		return fmt.Errorf("watch the pod's interfaces: %w", err)
	}
	return nil
}

func (h *helper) unwatch() (int, error) {
	if h.watch == nil {
		return 0, nil
	}
	w := h.watch
	h.watch = nil
	return w.End()
}

const table = "tare-mtls" // the name of the nftables table with the layer's rules

// beforeService is the priority of the layer's rules: just before a service's address is replaced by a pod's. A node
// thus redirects to the proxy first.
var beforeService = nftables.ChainPriorityRef(*nftables.ChainPriorityNATDest - 1)

// install installs the rules in this network namespace, in place of earlier rules of the layer.
func (r redirect) install() error {
	if err := removeRules(); err != nil {
		return err
	}
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	t := conn.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: table})
	hook := nftables.ChainHookPrerouting
	if r.Own {
		hook = nftables.ChainHookOutput
	}
	c := conn.AddChain(&nftables.Chain{Name: "redirect", Table: t, Type: nftables.ChainTypeNAT, Hooknum: hook, Priority: beforeService})
	addresses := r.Addresses
	if len(addresses) == 0 {
		addresses = []netip.Addr{{}}
	}
	for _, address := range addresses {
		for _, port := range r.Ports {
			conn.AddRule(&nftables.Rule{Table: t, Chain: c, Exprs: r.rule(address, port)})
		}
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables redirect (does the kernel have nf_tables and nft_redir?): %w", err)
	}
	return nil
}

// rule returns the nftables rule "meta mark != MARK meta skuid != USER ip daddr ADDRESS tcp dport PORT redirect to
// :TO". With a valid At, it ends with "dnat to AT:TO".
func (r redirect) rule(address netip.Addr, port uint16) []expr.Any {
	const (
		destinationOffset = 16 // offset of the destination address in the IPv4 header
		portOffset        = 2  // offset of the destination port in the TCP header
	)
	var e []expr.Any
	except := func(key expr.MetaKey, value uint32) {
		if value != 0 {
			e = append(e, &expr.Meta{Key: key, Register: 1},
				&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(value)})
		}
	}
	except(expr.MetaKeyMARK, r.Mark)
	except(expr.MetaKeySKUID, r.User)
	if address.IsValid() {
		e = append(e, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: 4},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: address.AsSlice()})
	}
	e = append(e,
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: portOffset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(port)},
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(r.To)},
	)
	if !r.At.IsValid() {
		return append(e, &expr.Redir{RegisterProtoMin: 1})
	}
	return append(e, &expr.Immediate{Register: 2, Data: r.At.AsSlice()},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 2, RegProtoMin: 1})
}

// chains lists the chains in the layer's nftables table. The result conn is the connection to the kernel, by which a
// caller can change the chains.
func chains() (conn *nftables.Conn, own []*nftables.Chain, err error) {
	var all []*nftables.Chain
	if conn, err = nftables.New(); err == nil {
		all, err = conn.ListChainsOfTableFamily(nftables.TableFamilyIPv4)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("nftables: %w", err)
	}
	for _, c := range all {
		if c.Table.Name == table {
			own = append(own, c)
		}
	}
	return conn, own, nil
}

func countRules() (n int, err error) {
	conn, own, err := chains()
	for _, c := range own {
		rules, err := conn.GetRules(c.Table, c)
		if err != nil {
			return 0, fmt.Errorf("nftables: %w", err)
		}
		n += len(rules)
	}
	return n, err
}

func removeRules() error {
	conn, own, err := chains()
	if err != nil || len(own) == 0 {
		return err
	}
	conn.DelTable(own[0].Table)
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("nftables: remove the table %s: %w", table, err)
	}
	return nil
}
