package mtls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tare/internal/layer"
	"tare/internal/testbed"
)

const recordLimit = 5 * time.Second // timeout of a proxy's record of a connection, which normally appears within 0.25 s

// describe checks the proxies' program, version and number of workers, once per set-up.
func (a *active) describe(ctx context.Context) ([]layer.Check, error) {
	var checks []layer.Check
	for s, p := range a.proxies {
		answer, err := p.admin.ask(ctx, a.implementation().about)
		if err != nil {
			return nil, err
		}
		what, workers, err := a.implementation().describe(answer)
		if err != nil {
			return nil, err
		}
		checks = append(checks, layer.Check{
			Layer: kind, Name: side(s).part(), Expected: fmt.Sprintf("%s, %d workers", a.Proxy.One(), a.Workers.One()),
			Observed: fmt.Sprintf("%s, %d workers", what, workers),
			OK:       workers == a.Workers.One() && strings.HasPrefix(what, string(a.Proxy.One())+" "),
		})
	}
	return checks, nil
}

// prove shows that connections go through both proxies, with TLS as set. It keeps the proxies' counters, which the
// method through subtracts after the trial.
func (a *active) prove(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	checks, err := a.proveRules(ctx)
	if err != nil {
		return nil, err
	}
	server := a.helpers[serverSide.pod()]
	var port uint16
	if err := server.Ask(ctx, request{Listen: a.site.Ports()}, &port); err != nil {
		return nil, fmt.Errorf("listen for a probe in the server pod: %w", err)
	}
	defer func() { _ = server.Ask(context.WithoutCancel(ctx), request{Unlisten: &struct{}{}}, nil) }()
	to := netip.AddrPortFrom(a.site.Address(testbed.PodToPod), port)
	for _, part := range []func(context.Context, netip.AddrPort) ([]layer.Check, error){a.proveWay, a.proveStrangers} {
		more, err := part(ctx, to)
		if err != nil {
			return nil, err
		}
		checks = append(checks, more...)
	}
	now, err := a.count(ctx)
	if err != nil {
		return nil, err
	}
	a.before = now
	return append(checks, a.checkHandshakes("handshakes so far", now[serverSide])), nil
}

func (a *active) proveRules(ctx context.Context) ([]layer.Check, error) {
	var checks []layer.Check
	for _, s := range []side{clientSide, serverSide} {
		where := a.at[s]
		if err := a.proxies[s].failed(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.part(), err)
		}
		check, err := a.helpers.checkRules(ctx, where, a.redirect(s).rules())
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// proveWay shows that a random marker passed through the proxies. The wire must show it in clear if and only if the
// proxies do not encrypt.
func (a *active) proveWay(ctx context.Context, to netip.AddrPort) ([]layer.Check, error) {
	idle, err := a.count(ctx)
	if err != nil {
		return nil, err
	}
	logConnections := a.implementation().logConnections
	if logConnections != nil {
		if err := logConnections(ctx, a.proxies[serverSide].admin, true); err != nil {
			return nil, err
		}
	}
	m, err := a.helpers.sendMarker(ctx, a.site, sendRequest{To: to, HTTP: a.Protocol.One() == HTTP}, !a.Encrypts())
	if err != nil {
		return nil, err
	}
	checks := []layer.Check{m.checkWay(false), m.checkWire(!a.Encrypts())}
	if logConnections != nil && m.arrived() && !m.direct() {
		t, err := a.proxies[serverSide].log.record(ctx, m.Heard.Peer.String(), recordLimit)
		if err != nil {
			t.identity = err.Error()
		}
		checks = append(checks, a.checkRecord(t))
	}
	if logConnections != nil {
		if err := logConnections(ctx, a.proxies[serverSide].admin, false); err != nil {
			return nil, err
		}
	}
	if a.Encrypts() && a.Protocol.One() == HTTP && a.Proxy.One() == Envoy {
		want := "URI=" + clientIdentity
		checks = append(checks, layer.Check{Layer: kind, Name: "peer identity that the proxy reports to the program", Expected: want,
			Observed: cmp.Or(m.Heard.Identity, "of nobody"), OK: strings.Contains(";"+m.Heard.Identity+";", ";"+want+";")})
	}
	now, err := a.count(ctx)
	if err != nil {
		return nil, err
	}
	return append(checks, checkMoved("marker through the proxies", idle, now, uint64(m.size)), checkProtocol(a.Protocol.One(), idle, now)), nil
}

// checkRecord checks the client identity and the TLS version in the server proxy's record of a connection.
func (a *active) checkRecord(t connRecord) layer.Check {
	c := layer.Check{Layer: kind, Name: "peer that the server's proxy saw", Expected: "no TLS"}
	c.Observed = strings.Join([]string{t.identity, t.version, t.cipher}, " ")
	if !a.Encrypts() {
		c.OK = t.identity == "-" && t.version == "-"
		if c.OK {
			c.Observed = "no TLS"
		}
		return c
	}
	want := a.implementation().identify(clientIdentity)
	c.Expected = want + " " + string(a.Version.One())
	c.OK = t.identity == want && t.version == string(a.Version.One())
	if a.Cipher.OrZero() != "" {
		want := plan{Config: a.Config}.ciphers()
		c.Expected += " " + want
		c.OK = c.OK && t.cipher == want
	}
	return c
}

// proveStrangers connects directly to the server's proxy. The proxy must refuse clients without a certificate or with a
// stranger's and, if the proxies encrypt, without TLS.
func (a *active) proveStrangers(ctx context.Context, to netip.AddrPort) ([]layer.Check, error) {
	var checks []layer.Check
	var s sent
	for _, client := range []struct {
		name string
		with *tlsClient
		in   bool
	}{
		{"client without TLS", nil, !a.Encrypts()},
		{"client without a certificate", &tlsClient{Authority: a.ids.authority}, false},
		{"client with a stranger's certificate", &tlsClient{Authority: a.ids.authority, Identity: &a.ids.stranger}, false},
		{"client with its certificate", &tlsClient{Authority: a.ids.authority, Identity: &a.ids.client}, true},
	} {
		s = sent{}
		o := sendRequest{To: to, From: a.own[clientSide], HTTP: a.Protocol.One() == HTTP, Mark: mark, Marker: "tare", TLS: client.with}
		if err := a.helpers[a.at[clientSide]].Ask(ctx, request{Send: &o}, &s); err != nil {
			return nil, err
		}
		if checks = append(checks, s.check(client.name, client.in)); !a.Encrypts() {
			return checks, nil
		}
	}
	want := fmt.Sprintf("%s %s %s", serverIdentity, a.Version.One(), a.Key.One())
	seen := fmt.Sprintf("%s %s %s", s.Identity, s.Version, s.Key)
	return append(checks, layer.Check{Layer: kind, Name: "server that the client sees", Expected: want, Observed: seen, OK: want == seen}), nil
}

func (s sent) check(name string, in bool) layer.Check {
	say := map[bool]string{true: "let in", false: "refused"}
	c := layer.Check{Layer: kind, Name: name, Expected: say[in], Observed: say[s.arrived()], OK: s.arrived() == in}
	if !s.arrived() {
		c.Observed += " (" + s.Refused + ")"
	}
	return c
}

// ProveOff shows that the site has no rule of the layer, and that a marker arrives by the client's own connection.
func (c *Config) ProveOff(ctx context.Context, s *layer.Session) (checks []layer.Check, err error) {
	site, err := surround(s.Site)
	if err != nil {
		return nil, err
	}
	_, sidecars := testbed.As[testbed.Sidecars](s.Site)
	h := helpers{}
	defer func() { err = errors.Join(err, h.close(context.WithoutCancel(ctx))) }()
	if err := h.start(ctx, site, testbed.ClientPod, testbed.ServerPod); err != nil {
		return nil, err
	}
	for _, where := range []testbed.Place{testbed.ClientPod, testbed.ServerPod} {
		if sidecars {
			break // with sidecars, no program in these pods has the right to list rules
		}
		check, err := h.checkRules(ctx, where, 0)
		if err != nil {
			return nil, err
		}
		checks = append(checks, check)
	}
	var port uint16
	if err := h[testbed.ServerPod].Ask(ctx, request{Listen: site.Ports()}, &port); err != nil {
		return nil, fmt.Errorf("listen for a probe in the server pod: %w", err)
	}
	m, err := h.sendMarker(ctx, site, sendRequest{To: netip.AddrPortFrom(site.Address(testbed.PodToPod), port)}, true)
	if err != nil {
		return nil, err
	}
	checks = append(checks, m.checkWay(true))
	if !sidecars {
		checks = append(checks, m.checkWire(true))
	}
	return checks, nil
}

// through shows, after a trial, that the bytes of the trial went through the proxies, with TLS as the parameters say.
func (a *active) through(ctx context.Context, did layer.Did) ([]layer.Check, error) {
	now, err := a.count(ctx)
	if err != nil {
		return nil, err
	}
	trial := now[serverSide].since(a.before[serverSide])
	handshakes := a.checkHandshakes("handshakes of the trial", trial)
	if trial.Strangers > 0 {
		handshakes.OK, handshakes.Observed = false, fmt.Sprintf("%s, and %d strangers were refused", handshakes.Observed, trial.Strangers)
	}
	checks := []layer.Check{handshakes}
	if did.Sent > 0 {
		checks = append(checks, checkMoved("trial through the proxies", a.before, now, did.Sent))
	}
	if a.RequestsPerConnection.OrZero() > 0 {
		checks = append(checks, a.checkReuse(now[clientSide]))
	}
	return checks, nil
}

func (a *active) count(ctx context.Context) (both [2]counters, err error) {
	for s, p := range a.proxies {
		if err := p.failed(); err != nil {
			return both, fmt.Errorf("%s: %w", side(s).part(), err)
		}
		answer, err := p.admin.ask(ctx, a.implementation().stats(side(s)))
		if err != nil {
			return both, err
		}
		if both[s], err = a.implementation().count(answer, side(s)); err != nil {
			return both, err
		}
	}
	return both, nil
}

// checkMoved checks that each proxy moved at least size bytes between two readings of its counters, from and to.
func checkMoved(name string, from, to [2]counters, size uint64) layer.Check {
	c := layer.Check{Layer: kind, Name: name, Expected: fmt.Sprintf("%d bytes or more through each", size), OK: true}
	var seen []string
	for s := range to {
		d := to[s].since(from[s])
		seen = append(seen, fmt.Sprintf("%s: %d bytes, connections: %d", side(s).part(), d.Bytes, d.Connections))
		c.OK = c.OK && d.Bytes >= size && to[s].Bytes >= from[s].Bytes
	}
	c.Observed = strings.Join(seen, "; ")
	return c
}

// checkProtocol checks whether each proxy took the proof's marker for HTTP or TCP. A proxy took it for HTTP if it
// counted a request between two readings.
func checkProtocol(want protocol, from, to [2]counters) layer.Check {
	c := layer.Check{Layer: kind, Name: "marker taken for", Expected: string(want), OK: true}
	var seen []string
	for s := range to {
		as := tcp
		if to[s].since(from[s]).Requests > 0 {
			as = HTTP
		}
		seen = append(seen, side(s).part()+": "+string(as))
		c.OK = c.OK && as == want
	}
	c.Observed = strings.Join(seen, "; ")
	return c
}

// checkHandshakes checks the TLS handshakes that a proxy counted. All must have the right TLS version. Proxies
// without encryption must have made none.
func (a *active) checkHandshakes(name string, c counters) layer.Check {
	check := layer.Check{Layer: kind, Name: name, Expected: "none", Observed: fmt.Sprintf("%d", c.Handshakes), OK: c.Handshakes == 0}
	if !a.Encrypts() {
		return check
	}
	right := c.Handshakes
	check.Expected = "any number"
	check.Observed = fmt.Sprintf("%d, %d of them resumed", right, c.Resumed)
	if c.Versions != nil {
		right = c.Versions[string(a.Version.One())]
		check.Expected = fmt.Sprintf("all of %s", a.Version.One())
		check.Observed = fmt.Sprintf("%d of %d, %d of them resumed", right, c.Handshakes, c.Resumed)
	}
	check.OK = right == c.Handshakes && (c.Resumed == 0 || a.Resumption.One())
	if a.Protocol.One() == tcp && c.Connections > 0 {
		check.Expected += ", at least 1"
		check.OK = check.OK && right > 0
	}
	return check
}

// checkReuse checks that the client's proxy sent no more requests per connection, on average, than the parameter
// requestsPerConnection allows.
func (a *active) checkReuse(now counters) layer.Check {
	before := a.before[clientSide]
	d := now.since(before)
	return layer.Check{Layer: kind, Name: "requests per connection", Expected: fmt.Sprintf("at most %d", a.RequestsPerConnection.OrZero()),
		Observed: fmt.Sprintf("%d requests on %d new connections and %d that were open", d.Requests, d.Upstream, before.Open),
		OK:       d.Requests <= uint64(a.RequestsPerConnection.OrZero())*(d.Upstream+before.Open)}
}
