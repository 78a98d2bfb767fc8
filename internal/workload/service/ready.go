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

	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
)

// Helper is a helper in the client's pod that waits until the server answers.
var Helper = testbed.Helper{Name: "service-ready", Run: helperrpc.Reading("the server's address", repeatCheck)}

// readyCheck is the helper's input: the server's address, and the page that must answer.
type readyCheck struct {
	Address netip.AddrPort `json:"address"`
	Path    string         `json:"path,omitempty"` // "": the server must accept a connection
}

// await waits until the client's pod reaches the server and the server's output matches.
func (r *Running) await(ctx context.Context, site testbed.Site, at netip.AddrPort, ready Ready) error {
	limited, cancel := context.WithTimeoutCause(ctx, ready.limit().Std(), errSlow)
	defer cancel()
	var err error
	if ready.Log != "" {
		err = r.awaitLog(limited, ready.Log)
	}
	if err == nil && (ready.Log == "" || ready.Path != "") {
		err = r.awaitReached(limited, site, readyCheck{at, ready.Path})
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case r.Check(ctx) != nil:
		return fmt.Errorf("before it was ready: %w", r.Check(ctx))
	case errors.Is(context.Cause(limited), errSlow):
		err = fmt.Errorf("the %s is not ready after %v: %w", r.Name, ready.limit(), err)
		if last := r.printed.last(); last != "" {
			err = fmt.Errorf("%w; its last output: %s", err, last)
		}
	}
	return err
}

var errSlow = errors.New("it took too long")

// awaitLog waits until the server's output matches a pattern.
func (r *Running) awaitLog(ctx context.Context, pattern string) error {
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
		if r.printed.matches(match.Match) {
			return nil
		}
		select {
		case <-r.done:
			return r.Check(ctx)
		case <-ctx.Done():
			return fmt.Errorf("its output does not match %s", pattern)
		case <-tick.C:
		}
	}
}

// awaitReached waits until the client's pod reaches the server.
func (r *Running) awaitReached(ctx context.Context, site testbed.Site, c readyCheck) error {
	cmd, err := helperrpc.Command(site, testbed.ClientPod, Helper.Name, c)
	if err != nil {
		return err
	}
	ctx, stop := testbed.Until(ctx, r.done) // the wait also ends when the server does
	defer stop()
	why, _, err := helperrpc.Output(ctx, site, testbed.ClientPod, cmd)
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(why)), "\n")
	if last := lines[len(lines)-1]; last != "" && ctx.Err() != nil {
		return fmt.Errorf("%s: %s", c.Address, last)
	}
	return err
}

// repeatCheck is the helper's main function. It tries to reach the server until it succeeds, and prints each
// new error.
func repeatCheck(ctx context.Context, c readyCheck) error {
	last := ""
	for {
		err := c.try(ctx)
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

// try tries once.
func (c readyCheck) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if c.Path == "" {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.Address.String())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.Address.String()+c.Path, nil)
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
