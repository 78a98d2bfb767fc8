// Command capacity checks searches for a capacity on servers whose capacity is known: tare searches, on this machine and
// through a wire of its own, what a server carries that serves by the generic cell rate algorithm (ITU-T I.371).
//
//	make build && go -C hack/bench run ./capacity -markdown
//
// The server has so many cells a second. One that refuses answers with 503 beyond a burst of 20 ms; what it
// carries is given by the share of requests that may fail. One that delays answers when its cell is due; what it carries
// is given by the median latency and by the 99 % of a rate that must be answered. What is carried in truth comes from the
// same algorithm with arrivals and answers that take no time: a busy machine can only carry less.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"tare/hack/bench/carryout"
	"tare/hack/bench/table"
	"tare/internal/analysis"
	"tare/internal/run/journal"
	"tare/internal/run/machine/owned"
	"tare/internal/stats"
	"tare/internal/workload/http/load"
	"tare/internal/workload/http/pause"
)

// kind is a kind of server, with what is asked of it.
type kind struct {
	name    string
	burst   time.Duration // by which cells may come early; beyond it they are refused
	delays  bool          // cells that come early wait
	errors  float64       // share of requests that may fail
	latency time.Duration // that half of the requests may exceed
	cells   float64       // a second
}

var kinds = []kind{
	{name: "refuses", burst: 20 * time.Millisecond, errors: 0.2, latency: 100 * time.Millisecond, cells: 2000},
	{name: "delays", delays: true, latency: 10 * time.Millisecond, cells: 2000},
}

// slower is the cost of the slower server.
const slower = 0.05

// gcra is a server's state: when its next cell is due.
type gcra struct {
	kind
	due time.Duration
}

// take has a request that comes now take a cell. It is to wait so long.
func (g *gcra) take(now time.Duration) (wait time.Duration, ok bool) {
	g.due = max(g.due, now)
	if wait = g.due - now; !g.delays {
		if wait > g.burst {
			return 0, false
		}
		wait = 0
	}
	g.due += time.Duration(float64(time.Second) / g.cells)
	return wait, true
}

// carries says whether the rate is carried where nothing but the server takes time.
func (k kind) carries(rate float64, probe time.Duration) bool {
	g := gcra{kind: k}
	n := int(math.Ceil(rate * probe.Seconds()))
	refused, elapsed, late := 0, probe, 0
	for i := range n {
		at := time.Duration(float64(i) / rate * float64(time.Second))
		wait, ok := g.take(at)
		if elapsed = max(elapsed, at+wait); !ok {
			refused++
		} else if wait > k.latency {
			late++
		}
	}
	return float64(refused) <= k.errors*float64(n) && late+refused <= n/2 &&
		float64(n-refused)/elapsed.Seconds() >= load.LeastRate*float64(n)/probe.Seconds()*(1-k.errors)
}

// capacity is the highest rate that is carried then.
func (k kind) capacity(probe time.Duration) float64 {
	low, high := k.cells/4, k.cells*4
	for high/low > 1.00001 {
		if middle := math.Sqrt(low * high); k.carries(middle, probe) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// serve is the server.
func (k kind) serve(ctx context.Context, cells float64) error {
	k.cells = cells
	l, err := net.Listen("tcp", ":"+os.Getenv("TARE_PORT"))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	g, begun, mu := gcra{kind: k}, time.Now(), sync.Mutex{}
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		} else if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for br := bufio.NewReader(conn); ; {
				for line := []byte("-"); len(bytes.TrimSpace(line)) > 0; {
					if line, err = br.ReadSlice('\n'); err != nil {
						return
					}
				}
				mu.Lock()
				wait, ok := g.take(time.Since(begun))
				mu.Unlock()
				pause.For(wait)
				answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
				if !ok {
					answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno"
				}
				if _, err := io.WriteString(conn, answer); err != nil {
					return
				}
			}
		}()
	}
}

const experiment = `apiVersion: tare/v1alpha1
kind: Experiment
name: capacity
testbed: {local: {link: {rate: unlimited, mtu: 1500}}}
arms:
  - {name: full, layers: [env: {set: {CELLS: "%v"}}]}
  - {name: slower, layers: [env: {set: {CELLS: "%v"}}]}
workloads:
  - http:
      server: {run: [%q, -serve, %s]}
      objective: {latency-p50: %v, errors: %v%%, probe: %v}
      rate: %v/s
      connections: 64
      warmup: 100ms
design: {rounds: %d, setups: once}
limits: {foreignCPU: none, steal: none, cpuPressure: none, throttling: none}
`

func main() {
	binary := flag.String("tare", "../../bin/tare", "the tare binary")
	rounds := flag.Int("rounds", 6, "rounds of each run, of three searches each")
	probe := flag.Duration("probe", 200*time.Millisecond, "how long a rate is tried")
	only := flag.String("only", "", "one server alone: refuses, or delays")
	markdown := flag.Bool("markdown", false, "print Markdown")
	server := flag.String("serve", "", "be a server of this kind, of $CELLS a second")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *server != "" {
		err = serve(ctx, *server)
	} else {
		err = check(ctx, *binary, *only, *rounds, *probe, *markdown)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, name string) error {
	var cells float64
	if _, err := fmt.Sscan(os.Getenv("CELLS"), &cells); err != nil {
		return fmt.Errorf("CELLS: %w", err)
	}
	for _, k := range kinds {
		if k.name == name {
			return k.serve(ctx, cells)
		}
	}
	return fmt.Errorf("no server %q", name)
}

// check searches the capacities of all kinds in two runs each, and prints what came of it.
func check(ctx context.Context, binary, only string, rounds int, probe time.Duration, markdown bool) error {
	dir, err := os.MkdirTemp("", "tare-capacity-")
	if err != nil {
		return err
	}
	defer owned.Remove(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if markdown {
		fmt.Printf("<!-- made by: go -C hack/bench run ./capacity -markdown -->\n\n# Searches for a known capacity\n\n%d CPUs. %s\n", runtime.NumCPU(), loads())
		defer func() { fmt.Printf("\nAt the end: %s\n", loads()) }()
	}
	t := &table.Table{
		Title: "A server of known capacity",
		Notes: []string{
			fmt.Sprintf("Real searches by *tare*, each rate tried for %v, in two runs of %d rounds: two servers with the full rate (baseline and control), and one\n"+
				"that has %v %% fewer cells. Errors are those of single searches. Level: the 95 %% interval (Student's t) of an arm's mean in one run.", probe, rounds, 100*slower),
			"A server that refuses has a burst of 20 ms and may refuse 20 %. In a try it answers its cells of the try and of the burst, and one: the more, the shorter the try.\n" +
				"One that delays may take 10 ms in the median. It answers everything, late, so that not its latency ends what it carries but that 99 % of the rate must be answered by the end of a try.\n" +
				"A server's rate is no capacity without the objective and the length of a try.",
			"Truth is what it would carry if client, wire and server took no time. A busy machine carries less: an answer that comes 1 % of a try after its end makes that try fail.",
		},
		Head: []string{"server", "cells a second", "true capacity", "searches that ended", "error of a search %", "its median %", "its deviation %", "levels that hold the truth", "true cost %", "cost found, in two runs", "correlation of the runs' errors"},
	}
	for _, k := range kinds {
		if only != "" && only != k.name {
			continue
		}
		less := k
		less.cells *= 1 - slower
		arms, full, lower := []string{"full", "control", "slower"}, k.capacity(probe), less.capacity(probe)
		var errs [2][]float64
		held, levels, costs := 0, 0, []string(nil)
		for i := range errs {
			text := fmt.Sprintf(experiment, k.cells, less.cells, self, k.name, k.latency, 100*k.errors, probe, k.cells, rounds)
			run, err := carryout.Run(ctx, binary, filepath.Join(dir, fmt.Sprint(k.name, i)), []byte(text))
			if err != nil {
				return err
			}
			for _, arm := range arms {
				truth := full
				if arm == "slower" {
					truth = lower
				}
				one := found(run, arm, rounds, truth)
				errs[i] = append(errs[i], one...)
				e, err := stats.PairedT(ended(one), 0.95)
				if levels++; err == nil && e.Contains(0) {
					held++
				}
			}
			for _, c := range analysis.Judge(run.Plan, run.Trials).Comparisons {
				if c.Metric.Name == "capacity" && c.Arm == "slower" {
					costs = append(costs, fmt.Sprintf("%.2f [%.2f, %.2f]", 100*c.Overhead.Point, 100*c.Overhead.Lo, 100*c.Overhead.Hi))
				}
			}
		}
		var first, second []float64 // where both came to an end
		for j, e := range errs[0] {
			if !math.IsNaN(e + errs[1][j]) {
				first, second = append(first, e), append(second, errs[1][j])
			}
		}
		all := slices.Concat(errs[0], errs[1])
		both, rho := ended(all), stat.Correlation(first, second, nil)
		t.Add(k.name, fmt.Sprint(k.cells), fmt.Sprintf("%.0f", full), fmt.Sprintf("%d of %d", len(both), len(all)),
			fmt.Sprintf("%+.2f ± %.2f", 100*stat.Mean(both, nil), 100*stat.StdErr(stat.StdDev(both, nil), float64(len(both)))),
			fmt.Sprintf("%+.2f", 100*stats.Median(both)), fmt.Sprintf("%.2f", 100*stat.StdDev(both, nil)),
			fmt.Sprintf("%d of %d", held, levels), fmt.Sprintf("%.2f", 100*(1-lower/full)), strings.Join(costs, ", "), fmt.Sprintf("%.2f ± %.2f", rho, (1-rho*rho)/math.Sqrt(float64(len(first)))))
	}
	t.Write(os.Stdout, markdown)
	return nil
}

// found are the errors of an arm's searches, on the log scale and by round; NaN for one that came to no end.
func found(run *journal.Run, arm string, rounds int, truth float64) []float64 {
	errs := slices.Repeat([]float64{math.NaN()}, rounds)
	for _, t := range run.Trials {
		if t.Arm == arm && t.Valid() {
			errs[t.Round-1] = math.Log(t.Values["capacity"] / truth)
		}
	}
	return errs
}

// loads says how busy the machine is.
func loads() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return "Load average: " + strings.Join(strings.Fields(string(text))[:3], ", ") + "."
}

// ended are the errors of searches that came to an end.
func ended(errs []float64) []float64 { return slices.DeleteFunc(slices.Clone(errs), math.IsNaN) }
