package mtls

import (
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"tare/internal/text/tmpl"
)

// envoy is the proxy as upstream Envoy. Its configuration is static, and lacks the filters for metrics and metadata of
// Istio's build.
var envoy = implementation{
	program:   string(Envoy),
	version:   []string{"--version"},
	hint:      "make envoy; or put envoy on PATH",
	file:      "envoy.yaml",
	configure: parsed("envoy", envoyText),
	args: func(p plan) []string {
		return []string{"--config-path", "envoy.yaml", "--concurrency", strconv.Itoa(p.Workers.One()),
			"--disable-hot-restart", "--log-level", "error", "--file-flush-interval-msec", "250"}
	},
	admin:    func(name string) string { return "@" + name },
	method:   "GET",
	ready:    "/ready",
	about:    "/server_info",
	describe: parseServerInfo,
	stats: func(s side) string {
		return "/stats?usedonly&filter=" + url.QueryEscape(`^(listener|cluster|http)\.(`+s.String()+`)\.`)
	},
	identify: func(id string) string { return id },
	// The helper needs NET_ADMIN to redirect packets and to mark sockets. It needs NET_RAW to watch the wire.
	capabilities: []string{"NET_ADMIN", "NET_RAW"},
	count:        countEnvoy,
	logConnections: func(ctx context.Context, a admin, on bool) error {
		a.method = "POST"
		_, err := a.ask(ctx, "/runtime_modify?"+logKey+"="+map[bool]string{true: "100", false: "0"}[on])
		return err
	},
}

//go:embed envoy.yaml.tmpl
var envoyText string

func parsed(name, text string) *tmpl.Template {
	t, err := tmpl.Parse(name, text)
	if err != nil {
		panic(err)
	}
	return t
}

const logKey = "tare.tell" // the runtime key in envoy.yaml.tmpl that turns the records of connections on

func countEnvoy(text string, s side) (counters, error) {
	stats, err := parseStats(text)
	if err != nil {
		return counters{}, err
	}
	listener, cluster := "listener."+s.String()+".", "cluster."+s.String()+"."
	tls := listener // beginning of the names of the counters for TLS connections with the other proxy
	if s == clientSide {
		tls = cluster
	}
	c := counters{
		Connections: stats[listener+"downstream_cx_total"],
		Bytes:       stats[cluster+"upstream_cx_rx_bytes_total"] + stats[cluster+"upstream_cx_tx_bytes_total"],
		Upstream:    stats[cluster+"upstream_cx_total"],
		Open:        stats[cluster+"upstream_cx_active"],
		Requests:    stats["http."+s.String()+".downstream_rq_total"],
		Handshakes:  stats[tls+"ssl.handshake"],
		Resumed:     stats[tls+"ssl.session_reused"],
		Versions:    withPrefix(stats, tls+"ssl.versions."),
		Strangers:   stats[tls+"ssl.fail_verify_error"] + stats[tls+"ssl.fail_verify_san"] + stats[tls+"ssl.fail_verify_no_cert"],
	}
	return c, nil
}

// parseStats parses Envoy's counters and gauges, one "name: value" per line. It leaves out histograms and texts.
func parseStats(text string) (map[string]uint64, error) {
	stats := map[string]uint64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, ": ")
		if line != "" && (!ok || name == "") {
			return nil, fmt.Errorf("envoy's stats: %q is not NAME: VALUE", line)
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			stats[name] = n
		}
	}
	return stats, nil
}

// withPrefix returns the stats whose names start with a prefix. The keys of the result are the names without the
// prefix.
func withPrefix(stats map[string]uint64, prefix string) map[string]uint64 {
	found := map[string]uint64{}
	for name, n := range stats {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			found[rest] = n
		}
	}
	return found
}

func parseServerInfo(text string) (what string, workers int, err error) {
	var info struct {
		Version string
		Options struct{ Concurrency int } `json:"command_line_options"`
	}
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return "", 0, fmt.Errorf("envoy's server_info: %w", err)
	}
	// The version has the form COMMIT/VERSION/Clean/RELEASE/BoringSSL.
	fields := strings.Split(info.Version, "/")
	if len(fields) < 4 || info.Options.Concurrency == 0 {
		return "", 0, fmt.Errorf("envoy's server_info: version %q, %d workers", info.Version, info.Options.Concurrency)
	}
	return "envoy " + strings.Join(append(fields[1:2:2], fields[4:]...), ", "), info.Options.Concurrency, nil
}

// haproxy is HAProxy 2.6 or newer. Before 3.0 it cannot mark sockets, so rules in a pod recognise HAProxy's sockets by
// their user. Only one TLS version is configured, since HAProxy does not count versions.
var haproxy = implementation{
	program:   string(haProxy),
	version:   []string{"-v"},
	hint:      "apt-get install haproxy",
	file:      "haproxy.cfg",
	configure: parsed("haproxy", haproxyText),
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
	// NET_ADMIN is for redirection rules and socket marks, NET_RAW for watching the wire. HAProxy switches to its own
	// user by SETUID and SETGID.
	capabilities: []string{"NET_ADMIN", "NET_RAW", "SETUID", "SETGID"},
}

//go:embed haproxy.cfg.tmpl
var haproxyText string

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
	tls := front // row with the counters of the connections to the other proxy
	if s == clientSide {
		tls = server
	}
	return counters{
		Connections: front["stot"], Bytes: front["bin"] + front["bout"], Requests: front["req_tot"],
		Upstream: server["connect"], Open: server["idle_conn_cur"] + server["used_conn_cur"],
		Handshakes: tls["ssl_sess"] + tls["ssl_reused_sess"], Resumed: tls["ssl_reused_sess"],
	}, nil
}

// parseTable parses HAProxy's answer to "show stat", in CSV. It returns the numbers of each row, by "PROXY/SERVER".
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
