// Command xds measures the simulated sidecars of the workload xds: how fast they connect to a server of
// go-control-plane, how long a push takes to the last of them, and what each takes of memory.
//
//	go -C hack/bench run ./xds
//
// The server and the sidecars are processes of their own, new for each row, that share this machine's CPUs.
// Beside Tare's sidecars are such as one makes of grpc-go: a client connection for each, with small buffers.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"tare/hack/bench/table"
	"tare/internal/stats"
	"tare/internal/workload/xds/sidecar"
	"tare/internal/workload/xds/xdstest"
)

// way is a row of the table.
type way struct {
	title    string
	kind     string // of the sidecars: tare, or grpc
	protocol sidecar.Protocol
	tls      bool
}

var ways = []way{
	{"delta", "tare", sidecar.Delta, false},
	{"state of the world", "tare", sidecar.SotW, false},
	{"delta, TLS", "tare", sidecar.Delta, true},
	{"grpc-go, delta", "grpc", sidecar.Delta, false},
	{"grpc-go, delta, TLS", "grpc", sidecar.Delta, true},
}

// task is what a process is told, by its standard input.
type task struct {
	Role     string           `json:"role"` // server, tare or grpc
	Mesh     xdstest.Mesh     `json:"mesh"`
	Cert     []byte           `json:"cert,omitempty"`
	Key      []byte           `json:"key,omitempty"`
	Server   string           `json:"server,omitempty"`
	Protocol sidecar.Protocol `json:"protocol,omitempty"`
	Sidecars int              `json:"sidecars,omitempty"`
	Rate     float64          `json:"rate,omitempty"`
}

// figures are what the process of the sidecars measures.
type figures struct {
	Ready      time.Duration `json:"ready"`     // from the first connection to the last sidecar that is ready
	CPU        time.Duration `json:"cpu"`       // meanwhile
	Push       time.Duration `json:"push"`      // to the last
	Resident   int64         `json:"resident"`  // B, with all connected, over what the process has without
	Collected  int64         `json:"collected"` // the same after a garbage collection that gives back what it can
	Goroutines int           `json:"goroutines"`
	Failed     int           `json:"failed"` // tries to connect
}

const roleVariable = "TARE_BENCH_XDS"

func main() {
	if os.Getenv(roleVariable) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, "xds:", err)
			os.Exit(1)
		}
		return
	}
	n := flag.Int("sidecars", 10_000, "sidecars")
	rate := flag.Float64("rate", 10_000, "at which they are due, per second")
	rounds := flag.Int("rounds", 3, "of all rows in turn")
	clusters := flag.Int("clusters", 20, "clusters that each sidecar asks endpoints of")
	markdown := flag.Bool("markdown", false, "print Markdown")
	only := flag.String("only", "", "one row, by its title")
	flag.Parse()
	if *markdown {
		fmt.Printf("<!-- made by: go -C hack/bench run ./xds -markdown -->\n\n# Sidecars, simulated\n\n%d CPUs, %s. Load average at the start: %s.\n", runtime.NumCPU(), runtime.Version(), loadAverage())
	}
	if err := compare(*n, *rate, *rounds, xdstest.Mesh{Clusters: *clusters, Endpoints: 10, Listeners: 5}, *markdown, *only); err != nil {
		fmt.Fprintln(os.Stderr, "xds:", err)
		os.Exit(1)
	}
}

// compare prints the table.
func compare(n int, rate float64, rounds int, mesh xdstest.Mesh, markdown bool, only string) error {
	all := map[string][]figures{}
	for range rounds {
		for _, w := range ways {
			if only != "" && w.title != only {
				continue
			}
			f, err := one(w, n, rate, mesh)
			if err != nil {
				return fmt.Errorf("%s: %w", w.title, err)
			}
			all[w.title] = append(all[w.title], f)
		}
	}
	t := &table.Table{Title: "At a server of go-control-plane", Head: []string{"sidecars", "connections/s", "CPU ms each", "push to the last, s", "KB each", "KB each, collected", "goroutines each", "failed tries"}}
	t.Note("%d sidecars in one process, due at %.0f/s, the server in another on the same CPUs; %d clusters with 10 endpoints each, 5 listeners with routes. "+
		"Medians of %d rounds. Connections are counted until the sidecar has all that it asked for; memory is resident, over that of the process before.", n, rate, mesh.Clusters, rounds)
	for _, w := range ways {
		if len(all[w.title]) == 0 {
			continue
		}
		median := func(value func(figures) float64) float64 {
			var list []float64
			for _, f := range all[w.title] {
				list = append(list, value(f))
			}
			return stats.Median(list)
		}
		each := float64(n)
		t.Add(w.title,
			fmt.Sprintf("%.0f", median(func(f figures) float64 { return each / f.Ready.Seconds() })),
			fmt.Sprintf("%.2f", median(func(f figures) float64 { return f.CPU.Seconds() * 1000 / each })),
			fmt.Sprintf("%.2f", median(func(f figures) float64 { return f.Push.Seconds() })),
			fmt.Sprintf("%.1f", median(func(f figures) float64 { return float64(f.Resident) / each / 1000 })),
			fmt.Sprintf("%.1f", median(func(f figures) float64 { return float64(f.Collected) / each / 1000 })),
			fmt.Sprintf("%.1f", median(func(f figures) float64 { return float64(f.Goroutines) / each })),
			fmt.Sprintf("%.0f", median(func(f figures) float64 { return float64(f.Failed) })))
	}
	t.Write(os.Stdout, markdown)
	return nil
}

// process is one that was started, and answers each line with a line.
type process struct {
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
}

func start(t task) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), roleVariable+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
	return p, p.in.Encode(t)
}

func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// one measures a row once.
func one(w way, n int, rate float64, mesh xdstest.Mesh) (f figures, err error) {
	of := task{Role: "server", Mesh: mesh}
	if w.tls {
		if of.Cert, of.Key, err = xdstest.Certificate(); err != nil {
			return f, err
		}
	}
	server, err := start(of)
	if err != nil {
		return f, err
	}
	defer server.end()
	var address string
	if err := server.out.Decode(&address); err != nil {
		return f, err
	}
	of.Role, of.Server, of.Protocol, of.Sidecars, of.Rate = w.kind, address, w.protocol, n, rate
	sidecars, err := start(of)
	if err != nil {
		return f, err
	}
	defer sidecars.end()
	if err := sidecars.out.Decode(&f); err != nil { // all are connected
		return f, fmt.Errorf("the sidecars: %w", err)
	}
	begun := time.Now()
	if err := errors.Join(sidecars.in.Encode("push"), server.in.Encode("push")); err != nil {
		return f, err
	}
	var reached time.Time
	if err := sidecars.out.Decode(&reached); err != nil {
		return f, fmt.Errorf("the push: %w", err)
	}
	f.Push = reached.Sub(begun)
	return f, nil
}

// work is the main function of both processes.
func work() error {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	var t task
	if err := in.Decode(&t); err != nil {
		return err
	}
	if t.Role == "server" {
		return serve(t, in, out)
	}
	kinds := map[string]func(task) (sidecars, error){"tare": ours, "grpc": theirs}
	if !slices.Contains([]string{"tare", "grpc"}, t.Role) {
		return fmt.Errorf("the role %q", t.Role)
	}
	return load(t, kinds[t.Role], in, out)
}
