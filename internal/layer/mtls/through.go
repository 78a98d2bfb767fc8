package mtls

import (
	"context"
	"fmt"
	"strings"

	"tare/internal/layer"
)

// through shows that the proxies used the configured TLS in the trial. If the workload reports how many bytes
// the trial sent, it also shows that the proxies moved these bytes.
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
	if a.Requests > 0 {
		checks = append(checks, a.checkReuse(now[clientSide]))
	}
	return checks, nil
}

// count reads the counters of both proxies.
func (a *active) count(ctx context.Context) (both [2]counters, err error) {
	for s, p := range a.proxies {
		if err := p.failed(); err != nil {
			return both, fmt.Errorf("%s: %w", side(s).part(), err)
		}
		answer, err := p.admin.ask(ctx, a.Program.implementation().stats(side(s)))
		if err != nil {
			return both, err
		}
		if both[s], err = a.Program.implementation().count(answer, side(s)); err != nil {
			return both, err
		}
	}
	return both, nil
}

// checkMoved checks that each proxy moved at least size bytes between the readings from and to.
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

// checkProtocol checks as which protocol each proxy parsed the marker. Only a proxy that parses HTTP counts
// requests.
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

// checkHandshakes checks that all TLS handshakes had the TLS version that is set. Without encryption it
// checks that there were no handshakes.
func (a *active) checkHandshakes(name string, c counters) layer.Check {
	check := layer.Check{Layer: kind, Name: name, Expected: "none", Observed: fmt.Sprintf("%d", c.Handshakes), OK: c.Handshakes == 0}
	if !a.encrypts() {
		return check
	}
	right := c.Handshakes
	check.Expected = "any number"
	check.Observed = fmt.Sprintf("%d, %d of them resumed", right, c.Resumed)
	if c.Versions != nil {
		right = c.Versions[string(a.Version)]
		check.Expected = fmt.Sprintf("all of %s", a.Version)
		check.Observed = fmt.Sprintf("%d of %d, %d of them resumed", right, c.Handshakes, c.Resumed)
	}
	check.OK = right == c.Handshakes && (c.Resumed == 0 || a.Resumption)
	if a.Protocol == tcp && c.Connections > 0 {
		check.Expected += ", at least 1"
		check.OK = check.OK && right > 0
	}
	return check
}

// checkReuse checks that the client's proxy opened a new connection after the set number of requests.
func (a *active) checkReuse(now counters) layer.Check {
	before := a.before[clientSide]
	d := now.since(before)
	return layer.Check{Layer: kind, Name: "requests per connection", Expected: fmt.Sprintf("at most %d", a.Requests),
		Observed: fmt.Sprintf("%d requests on %d new connections and %d that were open", d.Requests, d.Upstream, before.Open),
		OK:       d.Requests <= uint64(a.Requests)*(d.Upstream+before.Open)}
}
