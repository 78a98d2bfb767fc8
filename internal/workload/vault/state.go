package vault

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"

	"tare/internal/layer/vaultserver"
	"tare/internal/text/safetext"
	"tare/internal/workload/http/load"
)

// state reads the state of the servers.
func (r *request) state(ctx context.Context) (*vaultserver.State, error) {
	var s vaultserver.State
	a, err := openAPI(r.URLs[0], r.CA, r.Token)
	if err != nil {
		return nil, err
	}
	var health struct {
		Version string `json:"version"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/health?standbyok=true&sealedcode=200", nil, &health); err != nil {
		return nil, err
	}
	s.Version = health.Version
	var leader struct {
		Address string `json:"leader_address"`
		Since   string `json:"active_time"`
		Self    bool   `json:"is_self"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/leader", nil, &leader); err != nil {
		return nil, err
	}
	s.Leader = leader.Address
	if !r.Foreign { // only the leader knows since when it leads
		if !slices.Contains(r.URLs, s.Leader) {
			return nil, errors.New("the members have no leader")
		}
		if a, err = openAPI(s.Leader, r.CA, r.Token); err != nil {
			return nil, err
		}
		if err := a.call(ctx, http.MethodGet, "sys/leader", nil, &leader); err != nil {
			return nil, err
		}
		if !leader.Self {
			return nil, errors.New("the members do not agree on a leader")
		}
	}
	s.Since = leader.Since
	if s.Peers, err = peersOf(ctx, a); r.ignoreForeign(err) != nil {
		return nil, err
	}
	if s.Audit, err = auditOf(ctx, a); r.ignoreForeign(err) != nil {
		return nil, err
	}
	for _, to := range r.URLs {
		l, err := listenerAt(ctx, to, r.CA)
		if err != nil {
			return nil, err
		}
		s.Listeners = append(s.Listeners, l)
	}
	return &s, nil
}

// peersOf returns the members in raft's configuration.
func peersOf(ctx context.Context, a *api) ([]vaultserver.Peer, error) {
	var answer struct {
		Data struct {
			Config struct {
				Servers []vaultserver.Peer `json:"servers"`
			} `json:"config"`
		} `json:"data"`
	}
	err := a.call(ctx, http.MethodGet, "sys/storage/raft/configuration", nil, &answer)
	return answer.Data.Config.Servers, err
}

// auditOf returns the types of the audit devices.
func auditOf(ctx context.Context, a *api) ([]string, error) {
	var answer struct {
		Data map[string]struct {
			Type string `json:"type"`
		} `json:"data"`
	}
	err := a.call(ctx, http.MethodGet, "sys/audit", nil, &answer)
	var types []string
	for _, path := range slices.Sorted(maps.Keys(answer.Data)) {
		types = append(types, answer.Data[path].Type)
	}
	return types, err
}

// ignoreForeign drops the error of a call that the owner of an existing server forbids.
func (r *request) ignoreForeign(err error) error {
	var no *statusError
	if r.Foreign && errors.As(err, &no) {
		return nil
	}
	return err
}

// listenerAt tries TLS and plaintext at a listener.
func listenerAt(ctx context.Context, to, authority string) (vaultserver.Listener, error) {
	var l vaultserver.Listener
	u, err := url.Parse(to)
	if err != nil {
		return l, err
	}
	trust, err := load.Trust(authority)
	if err != nil {
		return l, err
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: trust}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		l.TLS = safetext.Line(err.Error())
	} else {
		l.TLS, l.Encrypts = tls.VersionName(conn.(*tls.Conn).ConnectionState().Version), true
		_ = conn.Close()
	}
	plain := &api{url: "http://" + u.Host, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callLimit}}
	err = plain.call(ctx, http.MethodGet, "sys/seal-status", nil, nil)
	l.Clear = err == nil
	if l.Plain = "answered"; err != nil {
		var no *statusError
		if errors.As(err, &no) {
			l.Plain = fmt.Sprintf("status %d", no.status)
		} else {
			l.Plain = safetext.Line(err.Error())
		}
	}
	return l, nil
}
