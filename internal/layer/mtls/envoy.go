package mtls

import (
	"context"
	_ "embed"
	"net/url"
	"strconv"
	"text/template"
)

// envoy runs upstream Envoy with a static configuration. Istio's build of Envoy has more filters, for metrics
// and metadata; upstream Envoy does not have these filters.
var envoy = implementation{
	program:   string(Envoy),
	version:   []string{"--version"},
	hint:      "make envoy; or put envoy on PATH",
	file:      "envoy.yaml",
	configure: template.Must(template.New("envoy").Parse(envoyText)),
	args: func(p plan) []string {
		return []string{"--config-path", "envoy.yaml", "--concurrency", strconv.Itoa(p.Workers),
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
	// NET_ADMIN is needed for the redirection rules and the mark of sockets, NET_RAW for watching the wire.
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

// logKey is the runtime key that makes Envoy print a record of each connection (connRecord).
const logKey = "tare.tell"

// countEnvoy reads the counters of a proxy.
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
