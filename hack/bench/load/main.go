// Command load compares Tare's load generator with wrk and with Fortio's library on one
// server, and prints what it finds as a page of Markdown:
//
//   - the highest rate of a closed loop, and the CPU time that the generator takes for it;
//   - the error of its latencies where the server knows how long each answer took;
//   - what becomes of a server that stands still for 200 ms.
//
// Rounds are paired: each runs every generator, in random order, as a process of its own. It is
// a module of its own for the sake of Fortio. wrk must be installed (apt-get install wrk).
//
//	cd hack/bench/load && go run . [-rounds 8]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// task is what a generator is to do.
type task struct {
	URL         string        `json:"url"`
	Connections int           `json:"connections"`
	Rate        float64       `json:"rate"` // 0: a closed loop
	Duration    time.Duration `json:"duration"`
	// Threads bounds the CPUs that the generator uses at a time; 0: all.
	Threads int `json:"threads,omitempty"`
}

// figures are what a generator says.
type figures struct {
	Requests int64      `json:"requests"`
	Errors   int64      `json:"errors"`
	Seconds  float64    `json:"seconds"`
	At       [4]float64 `json:"at"`   // latency at quantiles, in ms
	Long     int64      `json:"long"` // latencies of at least half the stall
	Lag      [2]float64 `json:"lag"`  // Tare's median and p99, in ms
	// CPU is the generator's CPU time in s. It is taken from the kernel.
	CPU float64 `json:"cpu"`
}

// quantiles are those of figures.At.
var quantiles = [4]float64{0.5, 0.9, 0.99, 0.999}

func main() {
	role := flag.String("role", "", "what this process is (it starts itself)")
	order := flag.String("task", "", "what a generator is to do")
	rounds := flag.Int("rounds", 8, "rounds of each comparison")
	duration := flag.Duration("duration", 3*time.Second, "of one load")
	only := flag.String("only", "", "rates, delays or stalls alone")
	seed := flag.Uint64("seed", 1, "of the order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *role != "" {
		err = play(ctx, *role, *order)
	} else {
		b := &bench{ctx: ctx, out: os.Stdout, rounds: *rounds, duration: *duration, random: rand.New(rand.NewPCG(*seed, 0))}
		err = b.run(*only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// play is the main function of a process that the bench has started.
func play(ctx context.Context, role, order string) error {
	switch role {
	case "builtin", "delays", "stalls":
		return server(ctx, role)
	}
	var t task
	if err := json.Unmarshal([]byte(order), &t); err != nil {
		return err
	}
	var f figures
	if t.Threads > 0 {
		runtime.GOMAXPROCS(t.Threads)
	}
	var err error
	switch role {
	case "tare":
		f, err = byTare(ctx, t)
	case "fortio":
		f, err = byFortio(t)
	default:
		err = fmt.Errorf("role %q", role)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// bench makes the comparisons.
type bench struct {
	ctx      context.Context
	out      io.Writer
	rounds   int
	duration time.Duration
	random   *rand.Rand
}

func (b *bench) run(only string) error {
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		return errors.New("wrk is not installed: apt-get install wrk")
	}
	version, _ := exec.Command(wrk, "-v").Output() // it exits with 1
	fmt.Fprintf(b.out, "# The load generator beside wrk and Fortio\n\n%d CPUs, %s; %s; Fortio %s. Load average at the start: %s.\n",
		runtime.NumCPU(), runtime.Version(), firstLine(version), fortioVersion(), loadAverage())
	for _, part := range []struct {
		name string
		do   func() error
	}{{"rates", b.rates}, {"delays", b.delays}, {"stalls", b.stalls}} {
		if only != "" && part.name != only {
			continue
		}
		if err := part.do(); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\nLoad average at the end: %s.\n", loadAverage())
	return nil
}

// generate runs one generator.
func (b *bench) generate(name string, t task) (figures, error) {
	var cmd *exec.Cmd
	if name == "wrk" {
		script, err := wrkScript()
		if err != nil {
			return figures{}, err
		}
		defer os.Remove(script)
		threads := t.Threads
		if threads == 0 {
			threads = min(runtime.NumCPU(), t.Connections)
		}
		cmd = exec.CommandContext(b.ctx, "wrk", "-t", fmt.Sprint(threads), "-c", fmt.Sprint(t.Connections),
			"-d", fmt.Sprintf("%ds", int(t.Duration.Seconds())), "--timeout", "10s", "-s", script, t.URL)
	} else {
		order, err := json.Marshal(t)
		if err != nil {
			return figures{}, err
		}
		cmd = exec.CommandContext(b.ctx, "/proc/self/exe", "-role", name, "-task", string(order))
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return figures{}, fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	if i := strings.LastIndex(strings.TrimSpace(string(out)), "\n"); i >= 0 {
		out = out[i+1:] // wrk says more before its script does
	}
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		return f, fmt.Errorf("%s: %w in %q", name, err, out)
	}
	f.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if f.Requests == 0 {
		return f, fmt.Errorf("%s: no request was answered", name)
	}
	return f, nil
}

// way is one way of generating load.
type way struct {
	title     string // in tables
	generator string
	task      // what differs from the others
}

// each runs the ways once each, in random order.
func (b *bench) each(ways []way, do func(w way) error) error {
	for _, i := range b.random.Perm(len(ways)) {
		if err := do(ways[i]); err != nil {
			return err
		}
	}
	return nil
}

// loadAverage says how busy the machine is.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	return strings.Join(strings.Fields(string(text))[:2], " and ")
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), " Copyright")
	line, _, _ = strings.Cut(line, "\n")
	return line
}
