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

// haproxy runs HAProxy, from 2.6 on. It cannot mark its sockets (before 3.0), and is told by
// its user in the rules of the pod; of certificates it tells the common name, and not the
// rest. It counts handshakes, and does not say of which version: the configuration allows
// one alone, and the probes show that it is that one.
var haproxy = implementation{
	program:   string(HAProxy),
	version:   []string{"-v"},
	hint:      "apt-get install haproxy",
	file:      "haproxy.cfg",
	configure: template.Must(template.New("haproxy").Parse(haproxyText)),
	args:      func(p plan) []string { return []string{"-db", "-f", "haproxy.cfg"} },
	admin:     func(name string) string { return "@" + name + strings.Repeat("\x00", 107-len(name)) }, // it fills the address up
	ready:     "show info",
	about:     "show info",
	describe:  parseInfo,
	stats:     func(side) string { return "show stat" },
	count:     countHAProxy,
	tell: func(ctx context.Context, a admin, on bool) error {
		answer, err := a.ask(ctx, "experimental-mode on; set var proc.tell "+map[bool]string{true: "bool(1)", false: "bool(0)"}[on])
		if err == nil && strings.TrimSpace(answer) != "" {
			err = fmt.Errorf("%s: %s", a.side.part(), strings.TrimSpace(answer))
		}
		return err
	},
	identify: account,
	user:     64998,
	// As for Envoy, and to become that user.
	capabilities: []string{"NET_ADMIN", "NET_RAW", "SETUID", "SETGID"},
}

//go:embed haproxy.cfg.tmpl
var haproxyText string

// User is the id of the user that the proxy becomes; 0: it stays who it is.
func (p plan) User() uint32 {
	if p.IsClient() && p.Placement == Sidecar {
		return p.Program.implementation().user
	}
	return 0
}

// Account is the last part of the identity that the other proxy must have.
func (p plan) Account() string { return account(p.Peer()) }

// parseInfo reads the answer to "show info", "Name: value" a line.
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

// countHAProxy reads the counters of the proxy.
func countHAProxy(text string, s side) (counters, error) {
	rows, err := parseTable(text)
	if err != nil {
		return counters{}, err
	}
	front, server := rows[s.String()+"/FRONTEND"], rows[s.String()+"/original"]
	tls := front // that faces the other proxy
	if s == clientSide {
		tls = server
	}
	return counters{
		Connections: front["stot"], Bytes: front["bin"] + front["bout"], Requests: front["req_tot"],
		Upstream: server["connect"], Open: server["idle_conn_cur"] + server["used_conn_cur"],
		Handshakes: tls["ssl_sess"] + tls["ssl_reused_sess"], Resumed: tls["ssl_reused_sess"],
	}, nil
}

// parseTable reads the answer to "show stat", a table in CSV with a "# " before the names of
// its columns. Rows are by "PROXY/SERVER"; what is no number is left out.
func parseTable(text string) (map[string]map[string]uint64, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "# ")))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("haproxy's stats are no table of proxies: %w", err)
	}
	if len(all) == 0 || len(all[0]) < 2 || all[0][0] != "pxname" {
		return nil, errors.New("haproxy's stats are no table of proxies")
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
