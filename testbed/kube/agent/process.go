package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/testbed"
	"tare/testbed/process"
)

// killDelay is how long the end of a program is waited for after its context is
// done, before it is left to the agent.
const killDelay = process.EndLimit + 2*process.OutputDelay

// remoteProgram is a program in the pod, from the client's side.
type remoteProgram struct {
	session *Session
	name    string
	args    []string
	stdout  io.Writer
	stderr  io.Writer

	done  chan struct{} // closed when all below is set
	usage testbed.Usage
	used  time.Duration
	err   error

	patience context.Context // of the waiting; ended by impatience
	giveUp   context.CancelCauseFunc
	killing  sync.Once
}

// Start starts a program in the pod. The outputs that the command asks for are
// written when it has ended, whole and checked by their digests, or not at all;
// of each at most 256 MiB. What the command is to read is read first, to its
// end, of at most 16 MiB.
func (s *Session) Start(ctx context.Context, cmd testbed.Command) (testbed.Process, error) {
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
	p := &remoteProgram{session: s, name: s.nextProgram(), args: cmd.Args, stdout: cmd.Stdout, stderr: cmd.Stderr, done: make(chan struct{})}
	order := startOrder{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdout: cmd.Stdout != nil, Stderr: cmd.Stderr != nil}
	if _, err := s.call(ctx, request{Op: opStart, Program: p.name, Start: &order}, stdin); err != nil {
		s.forsake(p.name)
		return nil, err
	}
	p.patience, p.giveUp = context.WithCancelCause(context.Background())
	s.mu.Lock()
	s.running++
	s.mu.Unlock()
	go p.follow(ctx)
	return p, nil
}

// readStdin reads what a program is to be given.
func readStdin(ctx context.Context, r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, nil
	}
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() { // which a reader that never ends keeps, but not the caller
		data, err := io.ReadAll(io.LimitReader(r, bodyLimit+1))
		read <- result{data, err}
	}()
	select {
	case got := <-read:
		if got.err == nil && len(got.data) > bodyLimit {
			got.err = fmt.Errorf("its standard input is larger than the %d bytes that a pod can be given", bodyLimit)
		}
		return got.data, got.err
	case <-ctx.Done():
		return nil, fmt.Errorf("its standard input has no end: %w", context.Cause(ctx))
	}
}

// follow waits for the program's end and collects what it left.
func (p *remoteProgram) follow(ctx context.Context) {
	stop := context.AfterFunc(ctx, p.end)
	end, err := p.wait()
	var outputs [2][]byte
	if err == nil {
		outputs, err = p.collect(end)
	}
	stop()
	if end != nil {
		p.usage, p.used = end.Usage, end.CPU
	}
	p.err = p.verdict(ctx, end, err)
	if end != nil && err == nil {
		p.err = errors.Join(p.err, p.deliver(outputs))
	}
	p.session.ended(p.name)
	p.giveUp(nil)
	close(p.done)
}

func (p *remoteProgram) wait() (*ending, error) {
	a, err := p.session.call(p.patience, request{Op: opWait, Program: p.name}, nil)
	if err != nil {
		return nil, err
	}
	if a.End == nil {
		return nil, fmt.Errorf("wait: %w: the answer has no end", errFrame)
	}
	return a.End, nil
}

// collect fetches the outputs that were asked for.
func (p *remoteProgram) collect(end *ending) (outputs [2][]byte, err error) {
	if end.Failure != "" {
		return outputs, errors.New(end.Failure)
	}
	if p.stdout != nil {
		if outputs[0], err = p.fetch("stdout", end.Stdout); err != nil {
			return outputs, err
		}
	}
	if p.stderr != nil {
		outputs[1], err = p.fetch("stderr", end.Stderr)
	}
	return outputs, err
}

// fetch gets one output whole, or an error.
func (p *remoteProgram) fetch(stream string, want output) ([]byte, error) {
	if want.Size < 0 || want.Size > process.OutputLimit {
		return nil, fmt.Errorf("fetch its %s: %w: a size of %d", stream, errFrame, want.Size)
	}
	var got bytes.Buffer
	for int64(got.Len()) < want.Size {
		order := fetchOrder{Stream: stream, Offset: int64(got.Len())}
		a, err := p.session.call(p.patience, request{Op: opFetch, Program: p.name, Fetch: &order}, nil)
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
		return nil, fmt.Errorf("fetch its %s: %d bytes arrived with the SHA-256 %s, but it wrote %d with %.64q", stream, got.Len(), digest, want.Size, want.SHA256)
	}
	return got.Bytes(), nil
}

// deliver writes the outputs where the command wants them.
func (p *remoteProgram) deliver(outputs [2][]byte) error {
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

// verdict says how the program ended.
func (p *remoteProgram) verdict(ctx context.Context, end *ending, err error) error {
	switch {
	case ctx.Err() != nil && (end == nil || end.Signal != ""):
		return fmt.Errorf("%s: %w", testbed.Quote(p.args), context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%s: %w", testbed.Quote(p.args), err)
	case end.Signal != "":
		return &testbed.ExitError{Args: p.args, Code: -1, Signal: end.Signal, Stderr: end.Tail}
	case end.Code != 0:
		return &testbed.ExitError{Args: p.args, Code: end.Code, Stderr: end.Tail}
	}
	return nil
}

// Wait waits for the end of the program and of all its descendants, and for its
// outputs.
func (p *remoteProgram) Wait() (testbed.Usage, error) {
	<-p.done
	return p.usage, p.err
}

// Printed reads what the program has written so far to "stdout" or "stderr", from an offset
// on: a piece, which is empty where there is no more yet. After the end of the program it
// gives nothing.
func (p *remoteProgram) Printed(stream string, from int64) ([]byte, error) {
	if p.ended() {
		return nil, nil
	}
	a, err := p.session.call(p.patience, request{Op: opFetch, Program: p.name, Fetch: &fetchOrder{Stream: stream, Offset: from}}, nil)
	if p.ended() || p.patience.Err() != nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what %s has printed: %w", testbed.Quote(p.args), err)
	}
	return a.body, nil
}

// Kill ends the program and its descendants and waits until they are gone.
func (p *remoteProgram) Kill() error {
	err := p.kill()
	if err != nil {
		p.giveUp(err)
	}
	<-p.done
	return err
}

// end kills it without waiting; what waits for its end does so no longer than
// killDelay from now.
func (p *remoteProgram) end() {
	p.killing.Do(func() {
		go func() {
			if err := p.kill(); err != nil {
				p.giveUp(err)
			}
		}()
	})
}

func (p *remoteProgram) kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeoutCause(p.patience, p.session.o.Patience+killDelay, errors.New("not killed in time"))
	defer cancel()
	_, err := p.session.call(ctx, request{Op: opKill, Program: p.name}, nil)
	if p.patience.Err() != nil && p.ended() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kill %s: %w", testbed.Quote(p.args), err)
	}
	return nil
}

func (p *remoteProgram) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// CPU is the CPU time that the program and its descendants have used so far.
func (p *remoteProgram) CPU() (time.Duration, error) {
	cpu, _, err := p.spent()
	return cpu, err
}

// Memory is what is resident of them now, in bytes.
func (p *remoteProgram) Memory() (int64, error) {
	_, memory, err := p.spent()
	return memory, err
}

func (p *remoteProgram) spent() (cpu time.Duration, memory int64, err error) {
	if p.ended() {
		return p.used, 0, nil
	}
	a, err := p.session.call(p.patience, request{Op: opCPU, Program: p.name}, nil)
	if p.ended() || p.patience.Err() != nil {
		<-p.done
		return p.used, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("CPU time and memory of %s: %w", testbed.Quote(p.args), err)
	}
	return a.CPU, a.Memory, nil
}
