package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tare/internal/testbed"
	"tare/internal/testbed/process"
)

type remoteProgram struct {
	client *Client
	name   string // name of the program in the session
	args   []string
	stdout io.Writer // nil: discard the output
	stderr io.Writer

	done  chan struct{} // closed when usage, used and err are set
	usage testbed.Usage
	used  time.Duration // CPU time of the program and its descendants after their end
	err   error

	waiting context.Context // context of all requests about the program; ended by giveUp
	giveUp  context.CancelCauseFunc
}

// Start starts a program in the pod, with at most 16 MiB of input. At its end, its outputs (at most 256 MiB each) go to
// the command's writers. An incomplete or altered output is an error.
func (s *Client) Start(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(cmd.Args) == 0 {
		return nil, errors.New("start: no command given")
	}
	stdin, err := readStdin(ctx, cmd.Stdin)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", testbed.Quote(cmd.Args), err)
	}
	s.mu.Lock()
	s.serial++
	name := strconv.Itoa(s.serial)
	s.mu.Unlock()
	p := &remoteProgram{client: s, name: name, args: cmd.Args, stdout: cmd.Stdout, stderr: cmd.Stderr, done: make(chan struct{})}
	order := startRequest{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdout: cmd.Stdout != nil, Stderr: cmd.Stderr != nil}
	if _, err := s.call(ctx, request{Op: opStart, Program: p.name, Start: &order}, stdin); err != nil {
		s.abandon(p.name)
		return nil, err
	}
	p.waiting, p.giveUp = context.WithCancelCause(context.Background())
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	go p.follow(ctx)
	return p, nil
}

func readStdin(ctx context.Context, r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	var all []byte
	read := make(chan error, 1)
	go func() { // a reader r without an end blocks this goroutine forever, but not the caller
		data, err := io.ReadAll(io.LimitReader(r, bodyLimit+1))
		all = data
		read <- err
	}()
	select {
	case err := <-read:
		if err == nil && len(all) > bodyLimit {
			err = fmt.Errorf("its standard input is larger than %d bytes, the maximum for a pod", bodyLimit)
		}
		return all, err
	case <-ctx.Done():
		return nil, fmt.Errorf("its standard input has no end: %w", context.Cause(ctx))
	}
}

func (p *remoteProgram) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { _ = p.kill() })
	a, err := p.client.call(p.waiting, request{Op: opWait, Program: p.name}, nil)
	end := a.End
	if err == nil && end == nil {
		err = fmt.Errorf("wait: %w: the answer has no end", errFrame)
	}
	var outputs [2][]byte
	if err == nil {
		outputs, err = p.fetchOutputs(end)
	}
	stop()
	if end != nil {
		p.usage, p.used = end.Usage, end.CPU
	}
	p.err = p.exitError(ctx, end, err)
	if end != nil && err == nil {
		p.err = errors.Join(p.err, p.writeOutputs(outputs))
	}
	p.client.mu.Lock()
	p.client.running--
	p.client.mu.Unlock()
	p.client.abandon(p.name)
	p.giveUp(nil)
	close(p.done)
}

func (p *remoteProgram) fetchOutputs(end *ending) (outputs [2][]byte, err error) {
	if end.Failure != "" {
		return outputs, errors.New(end.Failure)
	}
	if p.stdout != nil {
		outputs[0], err = p.fetch("stdout", end.Stdout)
	}
	if p.stderr != nil && err == nil {
		outputs[1], err = p.fetch("stderr", end.Stderr)
	}
	return outputs, err
}

func (p *remoteProgram) fetch(stream string, want output) ([]byte, error) {
	if want.Size < 0 || want.Size > process.OutputLimit {
		return nil, fmt.Errorf("fetch its %s: %w: a size of %d", stream, errFrame, want.Size)
	}
	var got bytes.Buffer
	for int64(got.Len()) < want.Size {
		order := fetchRequest{Stream: stream, Offset: int64(got.Len())}
		a, err := p.client.call(p.waiting, request{Op: opFetch, Program: p.name, Fetch: &order}, nil)
		if err != nil {
			return nil, fmt.Errorf("fetch its %s after %d of %d bytes: %w", stream, got.Len(), want.Size, err)
		}
		if len(a.body) == 0 {
			return nil, fmt.Errorf("fetch its %s: it ends after %d of %d bytes", stream, got.Len(), want.Size)
		}
		got.Write(a.body)
	}
	sum := sha256.Sum256(got.Bytes())
	if digest := hex.EncodeToString(sum[:]); digest != want.SHA256 || int64(got.Len()) != want.Size {
		return nil, fmt.Errorf("fetch its %s: %d bytes arrived with the SHA-256 %s, but it wrote %d with %.64q",
			stream, got.Len(), digest, want.Size, want.SHA256)
	}
	return got.Bytes(), nil
}

func (p *remoteProgram) writeOutputs(outputs [2][]byte) error {
	for i, w := range []io.Writer{p.stdout, p.stderr} {
		if w == nil {
			continue
		}
		if _, err := w.Write(outputs[i]); err != nil {
			return fmt.Errorf("%s: keep its output: %w", testbed.Quote(p.args), err)
		}
	}
	return nil
}

func (p *remoteProgram) exitError(ctx context.Context, end *ending, err error) error {
	switch {
	case ctx.Err() != nil && (end == nil || end.Signal != ""):
		err = context.Cause(ctx)
	case err == nil && (end.Code != 0 || end.Signal != ""):
		return &testbed.ExitError{Args: p.args, Code: end.Code, Signal: end.Signal, Stderr: end.Tail}
	case err == nil:
		return nil
	}
	return fmt.Errorf("%s: %w", testbed.Quote(p.args), err)
}

func (p *remoteProgram) Wait() (testbed.Usage, error) {
	<-p.done
	return p.usage, p.err
}

func (p *remoteProgram) Printed(stream string, from int64) ([]byte, error) {
	if p.ended() {
		return nil, nil
	}
	fetch := &fetchRequest{Stream: stream, Offset: from}
	a, err := p.client.call(p.waiting, request{Op: opFetch, Program: p.name, Fetch: fetch}, nil)
	if p.ended() || p.waiting.Err() != nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("output of %s: %w", testbed.Quote(p.args), err)
	}
	return a.body, nil
}

func (p *remoteProgram) Kill() error {
	err := p.kill()
	<-p.done
	return err
}

// kill kills the program. If the program cannot be killed in time, both Wait and kill return the reason.
func (p *remoteProgram) kill() error {
	if p.ended() {
		return nil
	}
	limit := p.client.o.Patience + process.EndLimit + 2*process.OutputDelay
	ctx, cancel := context.WithTimeoutCause(p.waiting, limit, errors.New("not killed in time"))
	defer cancel()
	_, err := p.client.call(ctx, request{Op: opKill, Program: p.name}, nil)
	if err == nil || p.waiting.Err() != nil && p.ended() {
		return nil
	}
	err = fmt.Errorf("kill %s: %w", testbed.Quote(p.args), err)
	p.giveUp(err)
	return err
}

func (p *remoteProgram) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *remoteProgram) CPU() (time.Duration, error) {
	cpu, _, err := p.resources()
	return cpu, err
}

func (p *remoteProgram) Memory() (int64, error) {
	_, memory, err := p.resources()
	return memory, err
}

func (p *remoteProgram) resources() (cpu time.Duration, memory int64, err error) {
	if p.ended() {
		return p.used, 0, nil
	}
	a, err := p.client.call(p.waiting, request{Op: opCPU, Program: p.name}, nil)
	if p.ended() || p.waiting.Err() != nil {
		<-p.done
		return p.used, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("CPU time and memory of %s: %w", testbed.Quote(p.args), err)
	}
	return a.CPU, a.Memory, nil
}
