package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
)

// Helper waits, in the client's pod, until a server answers there.
var Helper = testbed.Helper{Name: "service-ready", Run: orders.Reading("where the server is", reach)}

// question is what the helper is asked: where the server is, and the page that must answer.
type question struct {
	Address netip.AddrPort `json:"address"`
	Path    string         `json:"path,omitempty"` // "": that a connection is accepted
}

// await waits until the client's pod reaches the server, and its log says what it must.
func (r *Running) await(ctx context.Context, site testbed.Site, at netip.AddrPort, ready Ready) error {
	limited, cancel := context.WithTimeoutCause(ctx, ready.limit().Std(), errSlow)
	defer cancel()
	var err error
	if ready.Log != "" {
		err = r.logs(limited, ready.Log)
	}
	if err == nil && (ready.Log == "" || ready.Path != "") {
		err = r.reached(limited, site, question{at, ready.Path})
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case r.Check(ctx) != nil:
		return fmt.Errorf("before it was ready: %w", r.Check(ctx))
	case errors.Is(context.Cause(limited), errSlow):
		err = fmt.Errorf("the %s is not ready after %v: %w", r.Name, ready.limit(), err)
		if last := r.printed.last(); last != "" {
			err = fmt.Errorf("%w; the last that it printed: %s", err, last)
		}
	}
	return err
}

var errSlow = errors.New("it took too long")

// logs waits until what the server prints matches.
func (r *Running) logs(ctx context.Context, pattern string) error {
	match, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return fmt.Errorf("ready.log: %w", err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := r.read(); err != nil {
			return err
		}
		if r.printed.holds(match.Match) {
			return nil
		}
		select {
		case <-r.done:
			return r.Check(ctx)
		case <-ctx.Done():
			return fmt.Errorf("it has not printed what matches %s", pattern)
		case <-tick.C:
		}
	}
}

// reached waits until the client's pod reaches the server.
func (r *Running) reached(ctx context.Context, site testbed.Site, q question) error {
	cmd, err := orders.Command(site, testbed.ClientPod, Helper.Name, q)
	if err != nil {
		return err
	}
	ctx, stop := testbed.Until(ctx, r.done) // a server that has ended answers nobody
	defer stop()
	why, _, err := orders.Output(ctx, site, testbed.ClientPod, cmd)
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(why)), "\n")
	if last := lines[len(lines)-1]; last != "" && ctx.Err() != nil {
		return fmt.Errorf("%s: %s", q.Address, last)
	}
	return err
}

// reach is the helper. It prints why the server was not reached, each time that the reason
// changes, and ends when it is.
func reach(ctx context.Context, q question) error {
	last := ""
	for {
		err := q.ask(ctx)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if now := err.Error(); now != last {
			fmt.Println(now)
			last = now
		}
		if err := testbed.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// ask asks once.
func (q question) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if q.Path == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", q.Address.String())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+q.Address.String()+q.Path, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("status %s", answer.Status)
	}
	return nil
}
