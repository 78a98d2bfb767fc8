package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// products are those of the study that is written, with and without the layer.
var products = []string{"antrea", "calico", "canal", "cilium", "flannel", "kube-ovn"}

// written is the model of that study.
var written = model{blocks: len(products), repeats: 5, product: 0.5, between: 0.03, deployment: 0.02, repeat: 0.01}

// write writes a study of every product in two cells, with the truth of each block.
func write(dir string, rng *rand.Rand) error {
	var truth strings.Builder
	fmt.Fprintf(&truth, "typical block: %.4f of the bandwidth is lost\n", -math.Expm1(cost))
	for _, product := range products {
		for _, cell := range []string{"p2p", "p2s"} {
			base, arm := written.levels(rng)
			fmt.Fprintf(&truth, "%s %s: %.4f in these deployments\n", product, cell, -math.Expm1(arm-base))
			for i, level := range []float64{base, arm} {
				name := product + []string{"", "-wg"}[i]
				for r := range written.repeats {
					to := filepath.Join(dir, "results", name, fmt.Sprint(r+1), cell+"-client.stdout")
					if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
						return err
					}
					if err := os.WriteFile(to, report(written.value(rng, level)), 0o644); err != nil {
						return err
					}
				}
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, "truth.txt"), []byte(truth.String()), 0o644)
}

// report is one of iperf3, of ten seconds at a rate in bit/s.
func report(rate float64) []byte {
	bytes := rate / 8 * 10
	return fmt.Appendf(nil, `{"start": {"version": "iperf 3.12", "system_info": "Linux made 6.1.0", "timestamp": {"timesecs": 1767366245},
 "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": 10, "bytes": 0, "blocks": 0, "reverse": 0, "target_bitrate": 0}},
 "intervals": [],
 "end": {"sum_sent": {"start": 0, "end": 10, "seconds": 10, "bytes": %.0f, "retransmits": 0}, "sum_received": {"start": 0, "end": 10, "seconds": 10, "bytes": %.0f}}}
`, bytes, bytes)
}
