// Package orders is the conversation with a helper of Tare's own (testbed.Helper) at a place
// of a site: each order is one line of JSON on its standard input, each answer one line on
// its standard output. Secrets go nowhere else. The helper ends when its input does.
//
// A helper that stays up (Start) obeys one order after the other (Main). One that is started for
// a single order (Once, Command) reads it by Reading or Answering.
//
// Nothing can be written to a program that runs in a pod of a cluster. There a process of its
// own, the same program, takes each order to the helper's socket and waits for the answer
// (remote.go).
package orders

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"tare/testbed"
)

// Limit is how long a helper may take for one order.
const Limit = 20 * time.Second

// answer is the line that answers an order.
type answer struct {
	Error  string          `json:"error,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// Helper is a helper that was started.
type Helper struct {
	process testbed.Process
	mu      sync.Mutex // one order at a time
	line    line
}

// line is the way to a helper.
type line interface {
	// exchange gives an order, which is one line, and the answer to it.
	exchange(ctx context.Context, order []byte) ([]byte, error)
	// end has the helper end, which the caller waits for; it says whether to expect that the
	// helper is killed by that.
	end(testbed.Process) (killed bool, err error)
	close()
}

// Start starts the helper of that name at a place of a site. It outlives the context, until
// it is closed.
func Start(ctx context.Context, site testbed.Site, where testbed.Place, name string) (*Helper, error) {
	return start(ctx, site, where, testbed.HelperAt(site, where, name))
}

// StartSubject starts one that is a program under test: layers put themselves around it.
func StartSubject(ctx context.Context, site testbed.Site, where testbed.Place, name string) (*Helper, error) {
	cmd := testbed.HelperAt(site, where, name)
	cmd.Subject = true
	return start(ctx, site, where, cmd)
}

func start(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) (*Helper, error) {
	if testbed.HelperName() != "" {
		return nil, errors.New("a helper does not start helpers: the program's main function must call Helper first")
	}
	if remote, ok := testbed.As[testbed.Remote](site); ok && remote.Self(where) != "" {
		return startRemote(ctx, site, where, cmd)
	}
	return startHere(ctx, site, where, cmd)
}

// pipes are the way to a helper on this machine.
type pipes struct {
	orders  *os.File
	answers *os.File
	lines   *bufio.Reader
}

func startHere(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) (*Helper, error) {
	stdin, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	answers, stdout, err := os.Pipe()
	if err != nil {
		_ = orders.Close()
		return nil, err
	}
	defer func() { _ = stdout.Close() }()
	cmd.Stdin, cmd.Stdout = stdin, stdout
	process, err := site.Start(context.WithoutCancel(ctx), where, cmd)
	if err != nil {
		_ = orders.Close()
		_ = answers.Close()
		return nil, err
	}
	return &Helper{process: process, line: &pipes{orders: orders, answers: answers, lines: bufio.NewReader(answers)}}, nil
}

// Ask gives an order and waits for the answer, which is decoded unless it is nil. The error
// is the helper's own, or says why there is no answer.
func (h *Helper) Ask(ctx context.Context, order, into any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := ctx.Err(); err != nil { // an answer could be quicker than its end
		return err
	}
	a, err := h.exchange(ctx, order)
	switch {
	case err != nil:
		return err
	case a.Error != "":
		return errors.New(a.Error)
	case into == nil:
		return nil
	}
	return json.Unmarshal(a.Answer, into)
}

func (h *Helper) exchange(ctx context.Context, order any) (a answer, err error) {
	text, err := json.Marshal(order)
	if err != nil {
		return a, err
	}
	line, err := h.line.exchange(ctx, append(text, '\n'))
	if err != nil {
		return a, h.failure(ctx, err)
	}
	return a, json.Unmarshal(line, &a)
}

func (p *pipes) exchange(ctx context.Context, order []byte) ([]byte, error) {
	deadline := time.Now().Add(Limit)
	if err := errors.Join(p.orders.SetWriteDeadline(deadline), p.answers.SetReadDeadline(deadline)); err != nil {
		return nil, err
	}
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() {
		_ = p.orders.SetWriteDeadline(past)
		_ = p.answers.SetReadDeadline(past)
	})
	defer stop()
	if _, err := p.orders.Write(order); err != nil {
		return nil, err
	}
	return p.lines.ReadBytes('\n')
}

func (p *pipes) end(testbed.Process) (bool, error) { return false, p.orders.Close() }

func (p *pipes) close() { _ = p.answers.Close() }

// failure says why an exchange failed: by the context, or because the process
// has ended, or else with the error itself.
func (h *Helper) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		if _, exit := h.process.Wait(); exit != nil {
			return exit
		}
		return errors.New("it has ended")
	}
	return err
}

// CPU is the CPU time that the helper has used.
func (h *Helper) CPU() (time.Duration, error) { return h.process.CPU() }

// Memory is what is resident of the helper now, in bytes.
func (h *Helper) Memory() (int64, error) { return h.process.Memory() }

// Kill ends the helper at once.
func (h *Helper) Kill() error { return h.process.Kill() }

// Close ends the helper, by the end of its orders, or by force when the context is done.
func (h *Helper) Close(ctx context.Context) error {
	killed, err := h.line.end(h.process)
	stop := context.AfterFunc(ctx, func() { _ = h.process.Kill() })
	defer stop()
	_, exit := h.process.Wait()
	h.line.close()
	if failed := (*testbed.ExitError)(nil); killed && errors.As(exit, &failed) {
		return err
	}
	return errors.Join(exit, err)
}

// Main is the main function of a helper that stays up: it serves the orders of its standard
// input until that ends, or the context is done.
func Main[O, A any](ctx context.Context, obey func(ctx context.Context, order O) (A, error)) error {
	if socket := os.Getenv(servedVariable); socket != "" {
		return Listen(ctx, socket, func(conn net.Conn) {
			if ownUser(conn) {
				_ = Serve(ctx, conn, conn, obey) // a caller that is gone needs no answer
			}
		})
	}
	if socket := os.Getenv(askedVariable); socket != "" {
		return carry(ctx, socket, os.Stdin, os.Stdout)
	}
	stop := context.AfterFunc(ctx, func() { _ = os.Stdin.Close() })
	defer stop()
	return Serve(ctx, os.Stdin, os.Stdout, obey)
}

// Serve answers orders until there are no more. The answer nil is an empty one.
func Serve[O, A any](ctx context.Context, from io.Reader, to io.Writer, obey func(ctx context.Context, order O) (A, error)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, longest)
	encoder := json.NewEncoder(to)
	for lines.Scan() {
		var a answer
		var order O
		var got A
		err := json.Unmarshal(lines.Bytes(), &order)
		if err == nil {
			got, err = obey(ctx, order)
		}
		if err == nil && any(got) != nil {
			a.Answer, err = json.Marshal(got)
		}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

// longest is the longest order, in bytes.
const longest = 1 << 20
