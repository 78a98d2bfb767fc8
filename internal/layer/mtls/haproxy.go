package mtls

import (
	"context"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
)

// haproxy is HAProxy 2.6 or newer. Before version 3.0, HAProxy cannot mark its sockets: the rules in a pod recognise
// the sockets by their user. HAProxy does not count handshakes by TLS version: the configuration allows a single
// version, and the probes verify it.
var haproxy = implementation{
	program:   string(haProxy),
	version:   []string{"-v"},
	hint:      "apt-get install haproxy",
	file:      "haproxy.cfg",
	configure: template.Must(template.New("haproxy").Parse(haproxyText)),
	args:      func(p plan) []string { return []string{"-db", "-f", "haproxy.cfg"} },
	// HAProxy pads an abstract address with zero bytes to its full length.
	admin:    func(name string) string { return "@" + name + strings.Repeat("\x00", 107-len(name)) },
	ready:    "show info",
	about:    "show info",
	describe: parseInfo,
	stats:    func(side) string { return "show stat" },
	count:    countHAProxy,
	logConnections: func(ctx context.Context, a admin, on bool) error {
		answer, err := a.ask(ctx, "experimental-mode on; set var proc.tell "+map[bool]string{true: "bool(1)", false: "bool(0)"}[on])
		if err == nil && strings.TrimSpace(answer) != "" {
			err = fmt.Errorf("%s: %s", a.side.part(), strings.TrimSpace(answer))
		}
		return err
	},
	identify: account,
	user:     64998,
	// NET_ADMIN and NET_RAW are needed as for Envoy, SETUID and SETGID to switch to the other user.
	capabilities: []string{"NET_ADMIN", "NET_RAW", "SETUID", "SETGID"},
}

//go:embed haproxy.cfg.tmpl
var haproxyText string

// User returns the id of the user that the proxy switches to; 0 if it keeps its user.
func (p plan) User() uint32 {
	if p.IsClient() && p.Placement.One() == sidecar {
		return p.implementation().user
	}
	return 0
}

// Account returns the last part of the identity that the other proxy must have.
func (p plan) Account() string { return account(p.Peer()) }

// parseInfo parses HAProxy's answer to "show info", one "Name: value" per line.
func parseInfo(text string) (what string, workers int, err error) {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		info[name] = value
	}
	workers, err = strconv.Atoi(info["Nbthread"])
	if err != nil || info["Version"] == "" {
		return "", 0, fmt.Errorf("haproxy's info: version %q, %q threads", info["Version"], info["Nbthread"])
	}
	return "haproxy " + info["Version"], workers, nil
}

func countHAProxy(text string, s side) (counters, error) {
	rows, err := parseTable(text)
	if err != nil {
		return counters{}, err
	}
	front, server := rows[s.String()+"/FRONTEND"], rows[s.String()+"/original"]
	tls := front // tls is the frontend or backend that faces the other proxy
	if s == clientSide {
		tls = server
	}
	return counters{
		Connections: front["stot"], Bytes: front["bin"] + front["bout"], Requests: front["req_tot"],
		Upstream: server["connect"], Open: server["idle_conn_cur"] + server["used_conn_cur"],
		Handshakes: tls["ssl_sess"] + tls["ssl_reused_sess"], Resumed: tls["ssl_reused_sess"],
	}, nil
}

// parseTable parses HAProxy's answer to "show stat", a CSV table. It returns the numeric columns of each row,
// by "PROXY/SERVER".
func parseTable(text string) (map[string]map[string]uint64, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "# ")))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("haproxy's answer to \"show stat\" is no table of proxies: %w", err)
	}
	if len(all) == 0 || len(all[0]) < 2 || all[0][0] != "pxname" {
		return nil, errors.New("haproxy's answer to \"show stat\" is no table of proxies")
	}
	rows := map[string]map[string]uint64{}
	for _, fields := range all[1:] {
		if len(fields) < 2 {
			continue
		}
		row := map[string]uint64{}
		for i, value := range fields[:min(len(fields), len(all[0]))] {
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				row[all[0][i]] = n
			}
		}
		rows[fields[0]+"/"+fields[1]] = row
	}
	return rows, nil
}
