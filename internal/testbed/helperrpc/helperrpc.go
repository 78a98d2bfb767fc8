// Package helperrpc exchanges requests and responses with helpers (testbed.Helper) at a place of a site. A request is
// one
// line of JSON on the helper's standard input. A response is one line on its standard output. Secrets are sent only in
// these lines. The helper ends when its input ends.
//
// A helper started by Start serves many requests (Main). A helper for a single request (Once, Command) uses Reading or
// Answering. In a pod, nobody can write to a running program. Another process therefore carries each request to the
// helper's socket (remote.go).
package helperrpc

import (
	"bufio"
	"bytes"
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

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Limit is how long a response may take.
const Limit = 20 * time.Second

type response struct {
	Error  string          `json:"error,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
}

// Helper is a running helper.
type Helper struct {
	testbed.Process
	mu         sync.Mutex // held during a request, since the helper serves one request at a time
	connection connection
}

type connection interface {
	exchange(ctx context.Context, request []byte) ([]byte, error)
	// end makes the helper end. If end kills the helper, killed is true, and Close ignores the exit status.
	end(testbed.Process) (killed bool, err error)
	close()
}

// Start starts the named helper at a place of a site. The helper runs until Close.
func Start(ctx context.Context, site testbed.Site, where testbed.Place, name string) (*Helper, error) {
	return start(ctx, site, where, name, false)
}

// StartSubject starts a helper as a subject, in the layers' wrappers.
func StartSubject(ctx context.Context, site testbed.Site, where testbed.Place, name string) (*Helper, error) {
	return start(ctx, site, where, name, true)
}

func start(ctx context.Context, site testbed.Site, where testbed.Place, name string, subject bool) (*Helper, error) {
	cmd := testbed.HelperAt(site, where, name)
	cmd.Subject = subject
	if testbed.HelperName() != "" {
		return nil, errors.New("a helper does not start helpers: the program's main function must call Helper first")
	}
	if remote, ok := testbed.As[testbed.Remote](site); ok && remote.Self(where) != "" {
		return startRemote(ctx, site, where, cmd)
	}
	return startHere(ctx, site, where, cmd)
}

type pipes struct {
	requests  *os.File
	responses *os.File
	reader    *bufio.Reader
}

func startHere(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) (*Helper, error) {
	stdin, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }()
	responses, stdout, err := os.Pipe()
	if err != nil {
		_ = requests.Close()
		return nil, err
	}
	defer func() { _ = stdout.Close() }()
	cmd.Stdin, cmd.Stdout = stdin, stdout
	process, err := site.Start(context.WithoutCancel(ctx), where, cmd)
	if err != nil {
		_ = requests.Close()
		_ = responses.Close()
		return nil, err
	}
	return &Helper{Process: process, connection: &pipes{requests: requests, responses: responses, reader: bufio.NewReader(responses)}}, nil
}

// Ask sends a request to the helper. into points to the value for the response; nil drops it. The error is the helper's
// own, or the reason for no response.
func (h *Helper) Ask(ctx context.Context, request, into any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := ctx.Err(); err != nil { // ctx may be done, although the helper has answered fast
		return err
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	line, err := h.connection.exchange(ctx, append(text, '\n'))
	if err != nil {
		return h.failure(ctx, err)
	}
	var a response
	switch err := json.Unmarshal(line, &a); {
	case err != nil:
		return err
	case a.Error != "":
		return errors.New(a.Error)
	case into == nil:
		return nil
	}
	return json.Unmarshal(a.Answer, into)
}

func (p *pipes) exchange(ctx context.Context, request []byte) ([]byte, error) {
	deadline := time.Now().Add(Limit)
	if err := errors.Join(p.requests.SetWriteDeadline(deadline), p.responses.SetReadDeadline(deadline)); err != nil {
		return nil, err
	}
	past := time.Unix(1, 0)
	defer context.AfterFunc(ctx, func() {
		_ = p.requests.SetWriteDeadline(past)
		_ = p.responses.SetReadDeadline(past)
	})()
	if _, err := p.requests.Write(request); err != nil {
		return nil, err
	}
	return p.reader.ReadBytes('\n')
}

func (p *pipes) end(testbed.Process) (bool, error) { return false, p.requests.Close() }

func (p *pipes) close() { _ = p.responses.Close() }

// failure returns why an exchange with the helper failed. This is the cause of the context's end, the exit of the
// helper's process, or err itself.
func (h *Helper) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		if _, exit := h.Process.Wait(); exit != nil {
			return exit
		}
		return errors.New("it has ended")
	}
	return err
}

// Close ends the helper by closing its input. When the context is done, Close kills the helper.
func (h *Helper) Close(ctx context.Context) error {
	killed, err := h.connection.end(h.Process)
	defer context.AfterFunc(ctx, func() { _ = h.Process.Kill() })()
	_, exit := h.Process.Wait()
	h.connection.close()
	if failed := (*testbed.ExitError)(nil); killed && errors.As(exit, &failed) {
		return err
	}
	return errors.Join(exit, err)
}

// Main is the main function of a helper that serves requests from its standard input until the input ends.
func Main[O, A any](ctx context.Context, serve func(ctx context.Context, request O) (A, error)) error {
	if socket := os.Getenv(serverVariable); socket != "" {
		return Listen(ctx, socket, func(conn net.Conn) {
			if ownUser(conn) {
				_ = Serve(ctx, conn, conn, serve) // an error means that the caller has ended
			}
		})
	}
	if socket := os.Getenv(clientVariable); socket != "" {
		return relay(ctx, socket, os.Stdin, os.Stdout)
	}
	defer context.AfterFunc(ctx, func() { _ = os.Stdin.Close() })()
	return Serve(ctx, os.Stdin, os.Stdout, serve)
}

// Serve answers requests with the results of serve until the input ends. For a result of nil, the response is empty.
func Serve[O, A any](ctx context.Context, from io.Reader, to io.Writer, serve func(ctx context.Context, request O) (A, error)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20) // size of the largest request, in bytes
	encoder := json.NewEncoder(to)
	for lines.Scan() {
		var a response
		var request O
		var got A
		err := json.Unmarshal(lines.Bytes(), &request)
		if err == nil {
			got, err = serve(ctx, request)
		}
		if err == nil && any(got) != nil {
			a.Answer, err = json.Marshal(got)
		}
		if err != nil {
			a = response{Error: err.Error()}
		}
		if err := encoder.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

// Command returns a command that starts the named helper with the request as its input. The helper's main function must
// come from Reading or Answering.
func Command(site testbed.Site, where testbed.Place, name string, request any) (testbed.Command, error) {
	text, err := json.Marshal(request)
	cmd := testbed.HelperAt(site, where, name)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	return cmd, err
}

// Once runs a helper for a single request. into points to the value for the response; nil drops it. If the helper
// fails, the error is a testbed.ExitError.
func Once(ctx context.Context, site testbed.Site, where testbed.Place, name string, request, into any) error {
	cmd, err := Command(site, where, name, request)
	if err != nil {
		return err
	}
	text, err := outputOf(ctx, site, where, cmd)
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer: %w", err)
	}
	return nil
}

// outputOf runs a helper and returns its standard output. If the helper fails, the ExitError contains its standard
// error as one line.
func outputOf(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, error) {
	var why bytes.Buffer
	cmd.Stderr = &why
	text, _, err := Output(ctx, site, where, cmd)
	if exit := (*testbed.ExitError)(nil); errors.As(err, &exit) && why.Len() > 0 {
		exit.Stderr = safetext.Line(why.String())
	}
	return text, err
}

// Output runs a command and returns its standard output and usage, even if the command failed.
func Output(ctx context.Context, site testbed.Site, where testbed.Place, cmd testbed.Command) ([]byte, testbed.Usage, error) {
	var out bytes.Buffer
	cmd.Stdout = &out
	used, err := testbed.Run(ctx, site, where, cmd)
	return out.Bytes(), used, err
}

// Reading makes the main function of a helper for a single request. name is the beginning of errors about the request.
func Reading[O any](name string, do func(ctx context.Context, request O) error) func(context.Context) error {
	return func(ctx context.Context) error {
		var request O
		const limit = 1 << 30 // maximum size of a request in bytes; a request may contain many HTTP requests
		if err := json.NewDecoder(io.LimitReader(os.Stdin, limit)).Decode(&request); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return do(ctx, request)
	}
}

// Answering makes the main function of a helper that serves a single request and prints a response.
func Answering[O, A any](name string, serve func(ctx context.Context, request O) (A, error)) func(context.Context) error {
	return Reading(name, func(ctx context.Context, request O) error {
		response, err := serve(ctx, request)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(response)
	})
}
