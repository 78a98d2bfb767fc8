package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// order is one line to a Client; exactly one member is set.
type order struct {
	Open  *openOrder `json:"open,omitempty"`
	Run   *Span      `json:"run,omitempty"`
	Clock *struct{}  `json:"clock,omitempty"`
}

// openOrder asks for a session in place of the one that there is.
type openOrder struct {
	Config
	// Threads bounds the CPUs that the process uses at a time; 0 leaves it to the runtime.
	Threads int `json:"threads,omitempty"`
}

// reply is the line that answers an order.
type reply struct {
	Error  string    `json:"error,omitempty"`
	Late   bool      `json:"late,omitempty"` // the error is ErrLate
	Result *Result   `json:"result,omitempty"`
	Now    time.Time `json:"now,omitzero"` // by the clock of the process
}

// Client obeys orders, one stream of them after the other. Its session stays open in between.
type Client struct{ session *Session }

// Close closes the session.
func (c *Client) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// Serve obeys orders, a line of JSON each, and answers each with a line, until orders end;
// that ends a span that is under way, too. Orders are
//
//	{"open": CONFIG}  opens a session; one that was open is closed
//	{"run": SPAN}     runs a span through it, and answers with {"result": RESULT}
//	{"clock": {}}     answers with {"now": TIME}
//
// Every answer has the time. An order that fails is answered with {"error": TEXT}. OpenOrder,
// RunOrder and ClockOrder make orders; ReadReply and ReadClock read answers.
func (c *Client) Serve(ctx context.Context, orders io.Reader, replies io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan json.RawMessage)
	var failed error
	go func() {
		defer cancel()
		defer close(lines)
		for d := json.NewDecoder(orders); ; {
			var line json.RawMessage
			if err := d.Decode(&line); err != nil {
				if !errors.Is(err, io.EOF) {
					failed = fmt.Errorf("read orders: %w", err)
				}
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	encoder := json.NewEncoder(replies)
	for line := range lines {
		r, err := c.obey(ctx, line)
		a := reply{Result: r, Late: errors.Is(err, ErrLate), Now: time.Now()}
		if err != nil {
			a.Error = err.Error()
		}
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return failed
}

// obey carries one order out.
func (c *Client) obey(ctx context.Context, line json.RawMessage) (*Result, error) {
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	switch {
	case o.Open != nil:
		c.Close()
		if o.Open.Threads > 0 {
			runtime.GOMAXPROCS(o.Open.Threads)
		}
		opened, err := Open(o.Open.Config)
		c.session = opened
		return nil, err
	case o.Run != nil && c.session == nil:
		return nil, errors.New("no session is open")
	case o.Run != nil:
		return c.session.Run(ctx, *o.Run)
	case o.Clock != nil:
		return nil, nil
	}
	return nil, errors.New("an order that says nothing")
}

// OpenOrder is the order that opens a session. Threads bounds the CPUs that the process uses
// at a time; 0 leaves it to the runtime.
func OpenOrder(c Config, threads int) json.RawMessage {
	return line(order{Open: &openOrder{Config: c, Threads: threads}})
}

// RunOrder is the order that runs a span.
func RunOrder(s Span) json.RawMessage { return line(order{Run: &s}) }

// ClockOrder is the order that asks for the time.
func ClockOrder() json.RawMessage { return line(order{Clock: &struct{}{}}) }

func line(o order) json.RawMessage {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it holds nothing that cannot be written
	}
	return text
}

// ReadReply reads the answer to an order: the result of a span, nil of any other. A span whose
// start had passed is ErrLate.
func ReadReply(text []byte) (*Result, error) {
	a, err := readReply(text)
	return a.Result, err
}

// ReadClock reads the time from the answer to an order.
func ReadClock(text []byte) (time.Time, error) {
	a, err := readReply(text)
	return a.Now, err
}

func readReply(text []byte) (a reply, err error) {
	switch err := json.Unmarshal(text, &a); {
	case err != nil:
		return a, fmt.Errorf("load: a reply that cannot be read: %w", err)
	case a.Late:
		return a, fmt.Errorf("%w%s", ErrLate, strings.TrimPrefix(a.Error, ErrLate.Error()))
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}
