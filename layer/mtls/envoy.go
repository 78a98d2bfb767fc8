package mtls

import (
	"context"
	_ "embed"
	"net/url"
	"strconv"
	"text/template"
)

// envoy runs upstream Envoy with a static configuration. It is not Istio's build of it, whose
// filters for metrics and metadata come on top.
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
	ready:    func(ctx context.Context, a admin) error { _, err := a.get(ctx, "/ready"); return err },
	describe: describeEnvoy,
	identify: func(id string) string { return id },
	// For the rules and the mark of sockets, and to watch.
	capabilities: []string{"NET_ADMIN", "NET_RAW"},
	count:        countEnvoy,
	tell: func(ctx context.Context, a admin, on bool) error {
		return a.post(ctx, "/runtime_modify?"+tellKey+"="+map[bool]string{true: "100", false: "0"}[on])
	},
}

//go:embed envoy.yaml.tmpl
var envoyText string

// tellKey switches on that connections are told of on standard output (see told).
const tellKey = "tare.tell"

// describeEnvoy says which Envoy it is and with how many workers it runs.
func describeEnvoy(ctx context.Context, a admin) (what string, workers int, err error) {
	text, err := a.get(ctx, "/server_info")
	if err != nil {
		return "", 0, err
	}
	return parseServerInfo(text)
}

// countEnvoy reads the counters of the proxy.
func countEnvoy(ctx context.Context, a admin) (counters, error) {
	filter := url.QueryEscape(`^(listener|cluster|http)\.(` + a.side.String() + `)\.`)
	text, err := a.get(ctx, "/stats?usedonly&filter="+filter)
	if err != nil {
		return counters{}, err
	}
	stats, err := parseStats(text)
	if err != nil {
		return counters{}, err
	}
	listener, cluster := "listener."+a.side.String()+".", "cluster."+a.side.String()+"."
	tls := listener // that faces the other proxy
	if a.side == clientSide {
		tls = cluster
	}
	c := counters{
		Connections: stats[listener+"downstream_cx_total"],
		Bytes:       stats[cluster+"upstream_cx_rx_bytes_total"] + stats[cluster+"upstream_cx_tx_bytes_total"],
		Upstream:    stats[cluster+"upstream_cx_total"],
		Open:        stats[cluster+"upstream_cx_active"],
		Requests:    stats["http."+a.side.String()+".downstream_rq_total"],
		Handshakes:  stats[tls+"ssl.handshake"],
		Resumed:     stats[tls+"ssl.session_reused"],
		Versions:    below(stats, tls+"ssl.versions."),
		Strangers:   stats[tls+"ssl.fail_verify_error"] + stats[tls+"ssl.fail_verify_san"] + stats[tls+"ssl.fail_verify_no_cert"],
	}
	return c, nil
}
