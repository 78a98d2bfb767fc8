package vaultserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tare/internal/layer"
	"tare/internal/testbed"
)

var errNone = errors.New("there are no servers of the workload vault here, and the layer needs them")

// each makes the checks of all servers of a site.
func each(ctx context.Context, site testbed.Site, check func(*State) []layer.Check) ([]layer.Check, error) {
	servers := testbed.Held[Servers](site)
	if len(servers) == 0 {
		return nil, errNone
	}
	var checks []layer.Check
	for _, s := range servers {
		state, err := s.State(ctx)
		if err != nil {
			return checks, err
		}
		checks = append(checks, check(state)...)
	}
	return checks, nil
}

// proofs makes the checks that servers have the wanted settings.
type proofs struct {
	want    Settings
	servers []Servers // servers whose state before the trial is known
}

// before shows that the servers have the settings.
func (p *proofs) before(ctx context.Context, site testbed.Site) ([]layer.Check, error) {
	p.servers = testbed.Held[Servers](site)
	return each(ctx, site, func(s *State) []layer.Check { return s.checks(p.want, true) })
}

// after shows that the requests of the trial were written to the audit file.
func (p *proofs) after(context.Context, layer.Did) ([]layer.Check, error) {
	if p.want.Audit != FileAudit {
		return nil, nil
	}
	written := int64(0)
	for _, s := range p.servers {
		written += s.Audited()
	}
	return []layer.Check{{Layer: name, Name: "the audit file during the trial", Expected: "grows", Observed: fmt.Sprintf("%d bytes", written), OK: written > 0}}, nil
}

// checks compares the state of a server with settings. The settings must be in force (on), or must not be.
func (s *State) checks(want Settings, on bool) []layer.Check {
	var checks []layer.Check
	if want.TLS != nil {
		checks = append(checks, s.encryption(*want.TLS == on))
	}
	if want.Audit != "" {
		checks = append(checks, s.audits(want.Audit, on))
	}
	if want.Members > 0 {
		voters := 0
		for _, p := range s.Peers {
			if p.Voter {
				voters++
			}
		}
		k := layer.Check{Layer: name, Name: "voters in the configuration of raft", Expected: fmt.Sprint(want.Members), Observed: fmt.Sprint(voters)}
		checks = append(checks, k.Expect(on, voters == want.Members))
	}
	return checks
}

// encryption checks that all listeners accept TLS only (on), or plaintext only.
func (s *State) encryption(on bool) layer.Check {
	k := layer.Check{Layer: name, Name: "a client at the listeners", OK: len(s.Listeners) > 0}
	if k.Expected = "plaintext answered, TLS refused"; on {
		k.Expected = "TLS answered, plaintext refused"
	}
	var seen []string
	for _, l := range s.Listeners {
		k.OK = k.OK && l.Encrypts == on && l.Clear != on
		text := fmt.Sprintf("TLS: %s; plaintext: %s", l.TLS, l.Plain)
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	k.Observed = strings.Join(seen, " | ")
	return k
}

// audits checks which audit devices a server has.
func (s *State) audits(want Audit, on bool) layer.Check {
	have := NoAudit
	if len(s.Audit) > 0 {
		have = Audit(strings.Join(s.Audit, ", "))
	}
	return layer.Check{Layer: name, Name: "audit devices", Expected: string(want), Observed: string(have)}.Expect(on, have == want)
}
