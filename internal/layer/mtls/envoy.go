package mtls

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/template"
)

// envoy is upstream Envoy with a static configuration. It lacks the filters for metrics and metadata of
// Istio's build.
var envoy = implementation{
	program:   string(Envoy),
	version:   []string{"--version"},
	hint:      "make envoy; or put envoy on PATH",
	file:      "envoy.yaml",
	configure: template.Must(template.New("envoy").Parse(envoyText)),
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
	// NET_ADMIN is for the redirection rules and the mark of sockets, NET_RAW for watching the wire.
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

const logKey = "tare.tell" // the runtime key in envoy.yaml.tmpl that turns the records of connections on

func countEnvoy(text string, s side) (counters, error) {
	stats, err := parseStats(text)
	if err != nil {
		return counters{}, err
	}
	listener, cluster := "listener."+s.String()+".", "cluster."+s.String()+"."
	tls := listener // tls is the listener that faces the other proxy
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

// parseStats parses the counters and gauges of Envoy's text format, one "name: value" per line. Histograms
// and texts are left out.
func parseStats(text string) (map[string]uint64, error) {
	stats := map[string]uint64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok || name == "" {
			return nil, fmt.Errorf("envoy's stats: %q is not NAME: VALUE", line)
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		stats[name] = n
	}
	return stats, nil
}

// withPrefix returns the stats whose names start with a prefix, by the rest of the name.
func withPrefix(stats map[string]uint64, prefix string) map[string]uint64 {
	found := map[string]uint64{}
	for name, n := range stats {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			found[rest] = n
		}
	}
	return found
}

// parseServerInfo parses Envoy's answer to /server_info.
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
