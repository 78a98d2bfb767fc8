package network

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/toolformat/iperf3"
	"tare/internal/workload"
)

// peers holds the places of an iperf3 server and client at one site, and the server's address.
type peers struct {
	site    testbed.Site
	raw     workload.Raw
	client  testbed.Place
	server  testbed.Place
	address netip.Addr
	port    uint16
	buffer  int64 // size of UDP's socket buffers, in bytes
}

// runOptions describes a run of iperf3. Its output goes to NAME-client.json and NAME-server.json.
type runOptions struct {
	name      string
	duration  time.Duration // measured time
	omit      time.Duration // warm-up before the measured time
	direction direction
	streams   int
	args      []string // additional arguments of the client
	fits      bool     // true: iperf3 chooses the largest datagrams that the path carries without fragments
}

func (o runOptions) length() time.Duration { return o.omit + o.duration }

func (o runOptions) limit() time.Duration { return o.length() + 2*settle }

type runResult struct {
	figures
	client, server testbed.Usage
}

// interval returns the time in seconds between two readings of iperf3. It is short in short runs, for a useful mean
// round-trip time, and limits the output of longer runs.
func (o runOptions) interval() string {
	if o.length() > time.Minute {
		return "1"
	}
	return "0.25"
}

func (o runOptions) arguments() []string {
	args := []string{"-t", decimal(o.length().Seconds()), "-i", o.interval(), "-P", strconv.Itoa(o.streams)}
	switch o.direction {
	case download:
		args = append(args, "-R")
	case both:
		args = append(args, "--bidir")
	}
	return append(args, o.args...)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// settle is the time limit for a server to begin to listen before a run. The server's end after the run has the same
// limit.
const settle = 10 * time.Second

func (p peers) run(ctx context.Context, o runOptions) (*runResult, error) {
	limited, cancel := context.WithTimeoutCause(ctx, o.limit(), errTooLong)
	defer cancel()
	port := strconv.Itoa(int(p.port))
	server, err := p.start(limited, p.server, []string{"iperf3", "-s", "-1", "-J", "-p", port, "-i", o.interval()})
	if err != nil {
		return nil, err
	}
	defer server.end()
	client, err := p.connect(limited, server, append([]string{"iperf3", "-c", p.address.String(), "-p", port, "-J"}, o.arguments()...))
	if client != nil {
		err = errors.Join(err, workload.Keep(p.raw, o.name+"-client.json", client.stdout.Bytes()))
	}
	if err != nil {
		return nil, p.explain(ctx, limited, "client", err)
	}
	clientReport, err := client.report()
	if err != nil {
		if client.foundNoServer() && server.ended() {
			if _, why := server.report(); why != nil {
				return nil, p.explain(ctx, limited, "server", why)
			}
		}
		return nil, p.explain(ctx, limited, "client", err)
	}
	select {
	case <-server.done:
	case <-limited.Done():
		server.end()
	}
	if err := workload.Keep(p.raw, o.name+"-server.json", server.stdout.Bytes()); err != nil {
		return nil, err
	}
	serverReport, err := server.report()
	if err != nil {
		return nil, p.explain(ctx, limited, "server", err)
	}
	if err := errors.Join(tool.Check(clientReport.Start.Version, "the site"), tool.Check(serverReport.Start.Version, "the site"), o.sized(clientReport)); err != nil {
		return nil, err
	}
	f, err := read(clientReport, serverReport, o.direction, o.length().Seconds(), o.omit.Seconds())
	if err != nil {
		return nil, p.explain(ctx, limited, "output", err)
	}
	return &runResult{figures: f, client: client.usage, server: server.usage}, nil
}

var errTooLong = errors.New("iperf3 took too long")

// explain adds the name of the side that failed to an error. A run that took too long breaks the rule on timeouts.
func (p peers) explain(ctx, limited context.Context, side string, err error) error {
	invalid, broken := errors.AsType[*workload.Invalid](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(limited), errTooLong):
		return workload.Invalidf(workload.RuleTimeout, "iperf3 %s: %v", side, err)
	case broken:
		return workload.Invalidf(invalid.Rule, "iperf3 %s: %s", side, invalid.Detail)
	}
	return fmt.Errorf("iperf3 %s: %w", side, err)
}

// connect starts clients until one finds the server listening. No other sign is reliable: a server with JSON output
// prints nothing before its end, and some sandboxes hide its sockets from /proc.
func (p peers) connect(ctx context.Context, server *program, args []string) (*program, error) {
	deadline := time.Now().Add(settle)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		client, err := p.start(ctx, p.client, args)
		if err != nil {
			return nil, err
		}
		<-client.done
		if !client.foundNoServer() || time.Now().After(deadline) {
			return client, nil
		}
		select {
		case <-server.done:
			return client, nil // the server has ended; its report explains why
		case <-ctx.Done():
			return client, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

type program struct {
	args           []string
	process        testbed.Process
	stdout, stderr bytes.Buffer
	done           chan struct{} // closed when the program has ended, and usage and err are set
	usage          testbed.Usage
	err            error
}

func (p peers) start(ctx context.Context, where testbed.Place, args []string) (*program, error) {
	g := &program{args: args, done: make(chan struct{})}
	var err error
	if g.process, err = tool.Start(ctx, p.site, where, args, &g.stdout, &g.stderr); err != nil {
		return nil, err
	}
	go func() {
		defer close(g.done)
		g.usage, g.err = g.process.Wait()
	}()
	return g, nil
}

func (g *program) ended() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (g *program) end() {
	if !g.ended() {
		_ = g.process.Kill() // Kill fails if the program has just ended
		<-g.done
	}
}

// foundNoServer reports whether the client found no server listening. A proxy beside the client accepts every
// connection, and then drops it if there is no server.
func (g *program) foundNoServer() bool {
	text := g.stdout.String() + g.stderr.String()
	if strings.Contains(text, `"test_start"`) {
		return false
	}
	return strings.Contains(text, "unable to connect to server") && strings.Contains(text, "Connection refused") ||
		strings.Contains(text, "unable to receive control message: Connection reset by peer") ||
		strings.Contains(text, "unable to send cookie to server: Connection reset by peer") ||
		strings.Contains(text, "control socket has closed unexpectedly")
}

// report parses the program's output. iperf3 3.12 ends with status 0 even if its JSON has an error, so report checks
// the status and the JSON.
func (g *program) report() (*iperf3.Report, error) {
	r, err := parse(g.stdout.Bytes())
	invalid, broken := errors.AsType[*workload.Invalid](err)
	exit, exited := errors.AsType[*testbed.ExitError](g.err)
	switch {
	case g.err == nil || broken && invalid.Rule == workload.RuleExit:
		return r, err
	case exited:
		detail := exit.Error()
		if text := strings.TrimSpace(g.stderr.String()); text != "" && exit.Stderr == "" {
			detail += ": " + text
		}
		return nil, workload.Invalidf(workload.RuleExit, "%s", detail)
	}
	return nil, fmt.Errorf("%s: %w", testbed.Quote(g.args), g.err)
}
