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

// ClientRequest is one request to a Client. Exactly one member is set.
type ClientRequest struct {
	Open  *OpenSession `json:"open,omitempty"`  // opens a session, and closes the session before it
	Run   *Span        `json:"run,omitempty"`   // runs a span through the session
	Clock bool         `json:"clock,omitempty"` // asks only for the time, which every response holds
}

// OpenSession asks a Client for a session.
type OpenSession struct {
	Config
	// Threads bounds the CPUs that the process uses at a time; 0 leaves the bound to Go's runtime.
	Threads int `json:"threads,omitempty"`
}

// clientResponse is the response to one request.
type clientResponse struct {
	Error  string    `json:"error,omitempty"`
	Late   bool      `json:"late,omitempty"` // the error is ErrLate
	Result *Result   `json:"result,omitempty"`
	Now    time.Time `json:"now,omitzero"` // by the clock of the client's process
}

// Client carries out the requests of another process. The client's session stays open between requests.
type Client struct{ session *session }

// Close closes the session.
func (c *Client) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// Serve reads one ClientRequest in JSON, carries it out, and writes the response as one line of JSON. The end
// of the input ends a span under way.
func (c *Client) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var request ClientRequest
	var result *Result
	err := json.NewDecoder(in).Decode(&request)
	if err == nil {
		go func() {
			_, _ = io.Copy(io.Discard, in) // returns when the input ends
			cancel()
		}()
		result, err = c.carryOut(ctx, request)
	}
	response := clientResponse{Result: result, Late: errors.Is(err, ErrLate), Now: time.Now()}
	if err != nil {
		response.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(response)
}

func (c *Client) carryOut(ctx context.Context, r ClientRequest) (*Result, error) {
	switch {
	case r.Open != nil:
		c.Close()
		if r.Open.Threads > 0 {
			runtime.GOMAXPROCS(r.Open.Threads)
		}
		opened, err := Open(r.Open.Config)
		c.session = opened
		return nil, err
	case r.Run != nil && c.session == nil:
		return nil, errors.New("no session is open")
	case r.Run != nil:
		return c.session.Run(ctx, *r.Run)
	case r.Clock:
		return nil, nil
	}
	return nil, errors.New("a request without content")
}

// ReadResponse reads a client's response. It returns the result of a span, or nil for another request, and
// the time by the clock of the client's process. The error is ErrLate if the start of the span had already
// passed.
func ReadResponse(text []byte) (*Result, time.Time, error) {
	var r clientResponse
	switch err := json.Unmarshal(text, &r); {
	case err != nil:
		return nil, r.Now, fmt.Errorf("load: a response that cannot be read: %w", err)
	case r.Late:
		return nil, r.Now, fmt.Errorf("%w%s", ErrLate, strings.TrimPrefix(r.Error, ErrLate.Error()))
	case r.Error != "":
		return nil, r.Now, errors.New(r.Error)
	}
	return r.Result, r.Now, nil
}
