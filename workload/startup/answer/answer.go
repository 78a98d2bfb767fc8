// Package answer is what the workload startup runs where nothing else is: a program that
// prints one byte (program.go), and on a cluster the two ends by which that byte is seen.
//
// In each pod that is started, the Caller starts the program, reads the first byte of its
// output, and makes a connection to say so. In the arm's own pod, which is up already, the Listener
// takes these connections. So the answer has gone through the pod's network, and is
// seen when it comes: not when the kubelet next looks at its containers, which it does once
// in a second.
//
// The package is small, since it is in every pod.
package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/testbed"
	"tare/testbed/orders"
)

// Caller is the first process of a pod that is started. Its arguments are the address of the
// Listener, the name that it calls itself, the path of the program of this package, which is
// written there, and the program under test with its arguments. It stays until it is killed,
// also when that program has ended.
var Caller = testbed.Helper{Name: "startup-call", Run: func(ctx context.Context) error { return call(ctx, os.Args[1:]) }}

// Listener takes the calls, and the orders of package orders.
var Listener = testbed.Helper{Name: "startup-listen", Run: func(ctx context.Context) error { return new(listener).serve(ctx) }}

// Helpers are both.
var Helpers = []testbed.Helper{Caller, Listener}

// CallerCommand are the arguments and the variables of a Caller.
func CallerCommand(self, address, name, path string, program testbed.Command) (args, env []string) {
	args = slices.Concat([]string{self, address, name, path}, program.Args)
	return args, append(slices.Clone(program.Env), testbed.HelperVariable+"="+Caller.Name)
}

// call is the Caller.
func call(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("%q: the arguments are ADDRESS NAME PATH PROGRAM…", args)
	}
	address, name, path, program := args[0], args[1], args[2], args[3:]
	if slices.Contains(program, path) {
		if err := Write(path); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(testbed.HelperVariable); err != nil {
		return err
	}
	said, ended, err := begin(ctx, program)
	if err != nil {
		return err
	}
	if n, _ := said.Read(make([]byte, 1)); n == 0 {
		if err := <-ended; err != nil {
			return fmt.Errorf("%s printed nothing: %w", testbed.Quote(program), err)
		}
		return fmt.Errorf("%s printed nothing", testbed.Quote(program))
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // what follows is let through
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("say that %s has answered: %w", name, err)
	}
	_, err = to.Write([]byte(name + "\n"))
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("say that %s has answered: %w", name, err)
	}
	<-ctx.Done() // the pod stays as it is, whether or not the program does
	return nil
}

// begin starts the program, whose output is read, and tells how it ended.
func begin(ctx context.Context, program []string) (said io.ReadCloser, ended <-chan error, err error) {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stderr = os.Stderr // the pod's log
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout = w
	if err := errors.Join(cmd.Start(), w.Close()); err != nil {
		return nil, nil, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	return r, over, nil
}

// Order is what the Listener is asked: with Wait, to wait for the call of that name. The
// first order has none, and is answered by the port that calls go to.
type Order struct {
	Wait string        `json:"wait,omitempty"`
	For  time.Duration `json:"for,omitempty"` // at most
}

// Answer is what it answers.
type Answer struct {
	Port   int  `json:"port,omitempty"`
	Called bool `json:"called,omitempty"`
	// Ago is how long before the answer the call came.
	Ago time.Duration `json:"ago,omitempty"`
}

// listener notes when calls come.
type listener struct {
	mu    sync.Mutex
	at    map[string]time.Time
	port  int
	heard chan struct{} // closed and made anew with each call
}

// mostName bounds what a caller may call itself.
const mostName = 256

func (l *listener) serve(ctx context.Context) error {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", ":0")
	if err != nil {
		return fmt.Errorf("listen for the calls of pods: %w", err)
	}
	defer func() { _ = on.Close() }()
	l.at, l.heard, l.port = map[string]time.Time{}, make(chan struct{}), on.Addr().(*net.TCPAddr).Port
	go l.hear(on)
	return orders.Main(ctx, l.obey)
}

func (l *listener) hear(on net.Listener) {
	for {
		c, err := on.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(orders.Limit))
			text, _ := io.ReadAll(io.LimitReader(c, mostName))
			if name, whole := strings.CutSuffix(string(text), "\n"); whole {
				l.note(name)
			}
		}()
	}
}

func (l *listener) note(name string) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.at[name]; !known {
		l.at[name] = now
	}
	close(l.heard)
	l.heard = make(chan struct{})
}

func (l *listener) obey(ctx context.Context, o Order) (any, error) {
	if o.Wait == "" {
		return Answer{Port: l.port}, nil
	}
	limit := time.NewTimer(o.For)
	defer limit.Stop()
	for {
		l.mu.Lock()
		at, known := l.at[o.Wait]
		heard := l.heard
		l.mu.Unlock()
		if known {
			return Answer{Called: true, Ago: time.Since(at)}, nil
		}
		select {
		case <-heard:
		case <-limit.C:
			return Answer{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
