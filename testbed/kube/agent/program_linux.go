package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"tare/machine/owned"
	"tare/testbed"
	"tare/testbed/launcher"
	"tare/testbed/process"
)

// markVariable is in the environment of every program, and names it. Descendants
// inherit it unless they clear it.
const markVariable = "TARE_PROGRAM"

// program is a program under test with its outputs.
type program struct {
	server *Server
	mark   string // value of markVariable in its environment
	dir    string // of its outputs
	stdout *capture
	stderr *capture

	mu     sync.Mutex
	killed string // why the agent killed it of its own accord

	forked    chan struct{} // closed when kept or failed is set
	kept      *process.Program
	failed    error         // why it could not be started
	done      chan struct{} // closed when all is gone and end is set
	end       ending
	forgotten sync.Once

	cost      int64 // bytes of the agent's memory that it holds
	stdin     int64 // bytes on the disk
	discarded sync.Once
}

// start starts it. It is called once; others wait for forked.
func (p *program) start(order *startOrder, stdin []byte) {
	defer close(p.forked)
	if p.failed = p.fork(order, stdin); p.failed != nil {
		p.forget()
		close(p.done)
		return
	}
	go func() {
		p.finish()
		close(p.done)
	}()
}

func (p *program) fork(order *startOrder, stdin []byte) error {
	if len(order.Args) == 0 {
		return errors.New("start: no command given")
	}
	mark := markVariable + "=" + p.mark
	env := append(append(os.Environ(), order.Env...), mark)
	prepared, err := launcher.Prepare(order.Args, env, order.Dir, nil)
	if err != nil {
		return fmt.Errorf("start %s: %w", testbed.Quote(order.Args), err)
	}
	defer prepared.Close()
	path, err := lookUp(prepared.Args[0], order.Dir, env)
	if err != nil {
		return err
	}
	if err = p.makeFiles(order); err == nil {
		err = p.exec(process.Order{
			Path: path, Args: prepared.Args, Env: env, Dir: order.Dir, Files: prepared.Files, Stdout: p.stdout.writer(), Stderr: p.stderr.writer(),
			Mark: []string{mark}, Attributes: &syscall.SysProcAttr{Setsid: true},
		}, stdin)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", testbed.Quote(order.Args), err)
	}
	return nil
}

// makeFiles makes what its outputs go to.
func (p *program) makeFiles(order *startOrder) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for its outputs: %w", err)
	}
	for _, s := range []struct {
		name string
		kept bool
		to   **capture
	}{{"stdout", order.Stdout, &p.stdout}, {"stderr", order.Stderr, &p.stderr}} {
		path := ""
		if s.kept {
			path = filepath.Join(p.dir, s.name)
		}
		var err error
		if *s.to, err = newCapture(s.name, path, &p.server.store); err != nil {
			return err
		}
	}
	return nil
}

// input makes a file of what the program is to read, so that feeding it takes no
// one's attention. The file has no name any more when the program reads it.
func (p *program) input(stdin []byte) (*os.File, error) {
	if len(stdin) == 0 {
		return os.Open(os.DevNull)
	}
	if err := p.server.store.take(int64(len(stdin))); err != nil {
		return nil, err
	}
	p.stdin = int64(len(stdin))
	f, err := os.OpenFile(filepath.Join(p.dir, "stdin"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	if _, err = f.Write(stdin); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// exec has the server's keeper start it.
func (p *program) exec(order process.Order, stdin []byte) error {
	in, err := p.input(stdin)
	if err != nil {
		return fmt.Errorf("give it its standard input: %w", err)
	}
	defer func() { _ = in.Close() }()
	order.Stdin = in
	if order.Dir != "" {
		// The kernel's answer does not tell a missing directory from a missing program.
		if info, err := os.Stat(order.Dir); err != nil {
			return fmt.Errorf("its working directory: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("its working directory %s is none", order.Dir)
		}
	}
	p.kept, err = p.server.programs.Start(context.Background(), order)
	var refused *os.PathError
	switch {
	case errors.Is(err, process.ErrClosed):
		return errors.New("the agent is ending")
	case errors.As(err, &refused):
		return &os.PathError{Op: "exec", Path: refused.Path, Err: refused.Err}
	}
	return err
}

// finish waits until all of it is gone, and says how it ended.
func (p *program) finish() {
	end := p.kept.End()
	p.end = ending{
		Code: end.Status.ExitStatus(), Usage: end.Usage, CPU: end.CPU, Tail: end.Tail,
		Stdout: p.stdout.output(), Stderr: p.stderr.output(),
	}
	if end.Status.Signaled() {
		p.end.Signal = end.Status.Signal().String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := cmp.Or(end.Left, end.Spoilt)
	switch {
	case problem != nil:
		p.end.Failure = problem.Error()
	case end.Held:
		p.end.Failure = "it ended, but something that it started still holds its output open"
	case p.killed != "":
		p.end.Failure = p.killed
	case end.Lost != nil:
		p.end.Failure = fmt.Sprintf("how it ended is not known: %v", end.Lost)
	}
}

// stop kills the process group once it has been started, unless its leader has ended
// already: then the rest is being ended. Where nobody asked for it, why says what it
// is for.
func (p *program) stop(why string) {
	<-p.forked
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept != nil && p.kept.Signal() && p.killed == "" {
		p.killed = why
	}
}

// forget removes its outputs.
func (p *program) forget() {
	p.forgotten.Do(func() {
		p.stdout.remove()
		p.stderr.remove()
		_ = owned.Remove(p.dir)
		p.server.store.free(p.stdin)
	})
}

// discard forgets a program that is gone and is no session's any more.
func (p *program) discard() {
	p.discarded.Do(func() {
		p.forget()
		p.server.memory.free(p.cost)
		p.server.started.free(1)
	})
}

// capture takes what a program writes to one stream: into a file with its digest, if it
// is wanted.
type capture struct {
	file   *os.File // nil: not kept
	store  *budget  // of which it takes what it keeps
	digest hash.Hash
	size   atomic.Int64 // read while it is written, too
}

// newCapture makes one, with a file at path unless that is "".
func newCapture(name, path string, store *budget) (*capture, error) {
	c := &capture{store: store, digest: sha256.New()}
	if path == "" {
		return c, nil
	}
	var err error
	if c.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, fmt.Errorf("make a file for its %s: %w", name, err)
	}
	return c, nil
}

// Write takes the next part.
func (c *capture) Write(b []byte) (int, error) {
	if err := c.store.take(int64(len(b))); err != nil {
		return 0, err
	}
	n, err := c.file.Write(b)
	c.store.free(int64(len(b) - n))
	c.digest.Write(b[:n])
	c.size.Add(int64(n))
	return n, err
}

// writer is the capture where the stream is kept, and else nil.
func (c *capture) writer() io.Writer {
	if c.file == nil {
		return nil
	}
	return c
}

// output says what was written, when no more is.
func (c *capture) output() output {
	return output{Size: c.size.Load(), SHA256: hex.EncodeToString(c.digest.Sum(nil))}
}

// remove forgets what was written.
func (c *capture) remove() {
	if c != nil && c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
		c.store.free(c.size.Load())
	}
}
