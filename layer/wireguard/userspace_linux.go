package wireguard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"tare/testbed"
)

// answerLimit is how long the helper may take for one order.
const answerLimit = 20 * time.Second

// userspaceTunnel is an end run by wireguard-go in a process on the node: this
// program started as the layer's helper. Orders go to its standard input as one
// line of JSON each, and each is answered by one line on its standard output;
// keys appear nowhere else.
type userspaceTunnel struct {
	end     end
	process testbed.Process
	orders  *os.File
	answers *os.File
	lines   *bufio.Reader
	mu      sync.Mutex // one order at a time
}

// openUserspace starts the helper on the node and has it open the tunnel.
func openUserspace(ctx context.Context, site testbed.Site, e end) (tunnel, error) {
	t := &userspaceTunnel{end: e}
	if err := t.start(ctx, site); err != nil {
		return nil, fmt.Errorf("%s: start wireguard-go: %w", e.node.Place(), err)
	}
	_, err := t.ask(ctx, order{Open: &openOrder{MTU: e.node.MTU() - overhead, Port: listenPort}})
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoTUN, err)
	} else {
		err = t.rekey(ctx, e.private)
	}
	if err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

// start starts the process with a pipe at each side. It outlives the context,
// until it is closed.
func (t *userspaceTunnel) start(ctx context.Context, site testbed.Site) error {
	if testbed.HelperName() != "" {
		return errors.New("a helper does not start helpers: the program's main function must call Helper first")
	}
	stdin, orders, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = stdin.Close() }()
	answers, stdout, err := os.Pipe()
	if err != nil {
		_ = orders.Close()
		return err
	}
	defer func() { _ = stdout.Close() }()
	cmd := testbed.HelperCommand(kind)
	cmd.Stdin, cmd.Stdout = stdin, stdout
	t.process, err = site.Start(context.WithoutCancel(ctx), t.end.node.Place(), cmd)
	if err != nil {
		_ = orders.Close()
		_ = answers.Close()
		return err
	}
	t.orders, t.answers, t.lines = orders, answers, bufio.NewReader(answers)
	return nil
}

// ask gives an order and waits for the answer.
func (t *userspaceTunnel) ask(ctx context.Context, o order) (answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, err := t.exchange(ctx, o)
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s: wireguard-go: %s: %w", t.end.node.Place(), o, err)
	}
	return a, nil
}

func (t *userspaceTunnel) exchange(ctx context.Context, o order) (a answer, err error) {
	deadline := time.Now().Add(answerLimit)
	if err := errors.Join(t.orders.SetWriteDeadline(deadline), t.answers.SetReadDeadline(deadline)); err != nil {
		return a, err
	}
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() {
		_ = t.orders.SetWriteDeadline(past)
		_ = t.answers.SetReadDeadline(past)
	})
	defer stop()
	if err := json.NewEncoder(t.orders).Encode(o); err != nil {
		return a, t.failure(ctx, err)
	}
	line, err := t.lines.ReadBytes('\n')
	if err != nil {
		return a, t.failure(ctx, err)
	}
	return a, json.Unmarshal(line, &a)
}

// failure says why an exchange failed: by the context, or because the process
// has ended, or else with the error itself.
func (t *userspaceTunnel) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) {
		if _, exit := t.process.Wait(); exit != nil {
			return exit
		}
		return errors.New("it has ended")
	}
	return err
}

func (t *userspaceTunnel) describe() string { return "userspace (wireguard-go " + version() + ")" }

// version is that of the wireguard-go in this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "golang.zx2c4.com/wireguard" {
				return m.Version
			}
		}
	}
	return "of unknown version"
}

func (t *userspaceTunnel) rekey(ctx context.Context, private wgtypes.Key) error {
	_, err := t.ask(ctx, order{Rekey: &rekeyOrder{Private: private, Peers: t.end.peers}})
	return err
}

func (t *userspaceTunnel) traffic(ctx context.Context) (traffic, error) {
	a, err := t.ask(ctx, order{Traffic: &struct{}{}})
	return a.Traffic, err
}

func (t *userspaceTunnel) cpu() (time.Duration, bool, error) {
	used, err := t.process.CPU()
	return used, true, err
}

// close ends the process; with it goes the interface.
func (t *userspaceTunnel) close(ctx context.Context) error {
	_ = t.orders.Close()
	stop := context.AfterFunc(ctx, func() { _ = t.process.Kill() })
	defer stop()
	_, err := t.process.Wait()
	_ = t.answers.Close()
	if err != nil {
		return fmt.Errorf("%s: wireguard-go: %w", t.end.node.Place(), err)
	}
	return nil
}
