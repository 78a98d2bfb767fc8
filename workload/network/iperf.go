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

	"tare/testbed"
	"tare/toolformat/iperf3"
	"tare/workload"
)

// pair is a server and a client of iperf3 at one site.
type pair struct {
	site    testbed.Site
	raw     workload.Raw
	client  testbed.Place
	server  testbed.Place
	address netip.Addr
	port    uint16
	buffer  int64 // socket buffers of UDP, in bytes
}

// order is a run to be made. Its output goes to NAME-client.json and
// NAME-server.json.
type order struct {
	name      string
	duration  time.Duration // that counts
	omit      time.Duration // before it, not counted
	direction Direction
	streams   int
	args      []string // more arguments of the client
	fits      bool     // datagrams are to be as large as the path takes
}

func (o order) length() time.Duration { return o.omit + o.duration }

func (o order) limit() time.Duration { return o.length() + 2*settle }

// outcome is what a run measured, and what its programs used.
type outcome struct {
	figures
	client, server testbed.Usage
}

// The readings of a run are as dense as a useful mean round-trip time asks for,
// and in long runs rarer, which holds down the size of the output.
const (
	dense = 0.25 // seconds
	rare  = 1.0
	long  = time.Minute
)

func (o order) interval() string {
	if o.length() > long {
		return decimal(rare)
	}
	return decimal(dense)
}

// arguments are the client's, besides the address.
func (o order) arguments() []string {
	args := []string{"-t", decimal(o.length().Seconds()), "-i", o.interval(), "-P", strconv.Itoa(o.streams)}
	switch o.direction {
	case Download:
		args = append(args, "-R")
	case Both:
		args = append(args, "--bidir")
	}
	return append(args, o.args...)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// settle is how long a server may take to listen, and afterwards to end.
const settle = 10 * time.Second

func (p pair) run(ctx context.Context, o order) (*outcome, error) {
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
	said, err := client.report()
	if err != nil {
		if client.early() && server.ended() {
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
	heard, err := server.report()
	if err != nil {
		return nil, p.explain(ctx, limited, "server", err)
	}
	if err := errors.Join(tool.Check(said.Start.Version, "the site"), tool.Check(heard.Start.Version, "the site"), o.sized(said)); err != nil {
		return nil, err
	}
	f, err := read(said, heard, o.direction, o.length().Seconds(), o.omit.Seconds())
	if err != nil {
		return nil, p.explain(ctx, limited, "output", err)
	}
	return &outcome{figures: f, client: client.usage, server: server.usage}, nil
}

var errTooLong = errors.New("iperf3 took too long")

// explain turns a failure of one side into a broken rule, unless the trial
// itself was called off.
func (p pair) explain(ctx, limited context.Context, side string, err error) error {
	var invalid *workload.Invalid
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(limited), errTooLong):
		return workload.Invalidf(workload.RuleTimeout, "iperf3 %s: %v", side, err)
	case errors.As(err, &invalid):
		return &workload.Invalid{Rule: invalid.Rule, Detail: fmt.Sprintf("iperf3 %s: %s", side, invalid.Detail)}
	}
	return fmt.Errorf("iperf3 %s: %w", side, err)
}

// connect starts clients until one finds the server listening. A server that
// writes JSON says nothing before its end, and whatever else could be asked
// (its sockets in /proc) is not to be seen from outside of every sandbox.
func (p pair) connect(ctx context.Context, server *program, args []string) (*program, error) {
	deadline := time.Now().Add(settle)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		client, err := p.start(ctx, p.client, args)
		if err != nil {
			return nil, err
		}
		<-client.done
		if !client.early() || time.Now().After(deadline) {
			return client, nil
		}
		select {
		case <-server.done:
			return client, nil // the server's report tells why
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
	done           chan struct{} // closed when it has ended; then the rest may be read
	usage          testbed.Usage
	err            error
}

func (p pair) start(ctx context.Context, where testbed.Place, args []string) (*program, error) {
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
		_ = g.process.Kill() // it may have ended in this moment
		<-g.done
	}
}

// early says whether the client found nobody listening. A proxy beside it, such as
// the sidecar of a service mesh, takes every connection and drops it when it finds
// nobody itself.
func (g *program) early() bool {
	said := g.stdout.String() + g.stderr.String()
	if strings.Contains(said, `"test_start"`) {
		return false
	}
	return strings.Contains(said, "unable to connect to server") && strings.Contains(said, "Connection refused") ||
		strings.Contains(said, "unable to receive control message: Connection reset by peer") ||
		strings.Contains(said, "unable to send cookie to server: Connection reset by peer") ||
		strings.Contains(said, "control socket has closed unexpectedly")
}

// report reads what the program said. iperf3 3.12 ends with status 0 even when
// its JSON tells of an error, so that both count.
func (g *program) report() (*iperf3.Report, error) {
	r, err := parse(g.stdout.Bytes())
	var invalid *workload.Invalid
	toldError := errors.As(err, &invalid) && invalid.Rule == workload.RuleExit
	var exit *testbed.ExitError
	switch {
	case toldError || g.err == nil:
		return r, err
	case errors.As(g.err, &exit):
		detail := exit.Error()
		if said := strings.TrimSpace(g.stderr.String()); said != "" && exit.Stderr == "" {
			detail += ": " + said
		}
		return nil, &workload.Invalid{Rule: workload.RuleExit, Detail: detail}
	}
	return nil, fmt.Errorf("%s: %w", testbed.Quote(g.args), g.err)
}
