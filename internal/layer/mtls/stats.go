package mtls

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// parseStats reads the counters and gauges of Envoy's text format, which has one "name: value" per line. It
// skips histograms and texts. Envoy itself leaves out values that were never set.
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
			continue // a histogram, or a text
		}
		stats[name] = n
	}
	return stats, nil
}

// withPrefix returns the stats whose names start with a prefix. The keys are the rest of the names.
func withPrefix(stats map[string]uint64, prefix string) map[string]uint64 {
	found := map[string]uint64{}
	for name, n := range stats {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			found[rest] = n
		}
	}
	return found
}

// parseServerInfo reads Envoy's version and number of workers from its answer to /server_info.
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
