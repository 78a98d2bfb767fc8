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

	"tare/internal/run/machine/owned"
	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
	"tare/internal/testbed/process"
)

type program struct {
	server *Server
	mark   string // value of TARE_PROGRAM in the program's environment
	dir    string // directory of the output files
	stdout *capture
	stderr *capture

	mu     sync.Mutex
	killed string // why the agent killed the program without a request; "" if it did not

	forked  chan struct{} // closed when process or failed is set
	process *process.Program
	failed  error         // reason why the program could not be started
	done    chan struct{} // closed when the program and its descendants are gone and the field end is set
	end     ending
	removed sync.Once

	cost      int64 // bytes of the agent's memory that the program holds
	stdin     int64
	discarded sync.Once
}

// start starts the program. It must be called only once: for a repeated request, the agent waits for the channel
// forked.
func (p *program) start(order *startRequest, stdin []byte) {
	defer close(p.forked)
	if p.failed = p.fork(order, stdin); p.failed != nil {
		p.removeOutputs()
		close(p.done)
		return
	}
	go func() {
		p.finish()
		close(p.done)
	}()
}

func (p *program) fork(order *startRequest, stdin []byte) error {
	if len(order.Args) == 0 {
		return errors.New("start: no command given")
	}
	mark := "TARE_PROGRAM=" + p.mark // the program's descendants inherit this variable
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
		err = p.exec(process.Spec{
			Path: path, Args: prepared.Args, Env: env, Dir: order.Dir, Files: prepared.Files,
			Stdout: p.stdout.writer(), Stderr: p.stderr.writer(),
			Mark: []string{mark}, Attributes: &syscall.SysProcAttr{Setsid: true},
		}, stdin)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", testbed.Quote(order.Args), err)
	}
	return nil
}

func (p *program) makeFiles(order *startRequest) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for its outputs: %w", err)
	}
	var err error
	if p.stdout, err = p.newCapture("stdout", order.Stdout); err == nil {
		p.stderr, err = p.newCapture("stderr", order.Stderr)
	}
	return err
}

// openStdin returns a file with the program's standard input. The file's name is removed before the program starts.
func (p *program) openStdin(stdin []byte) (*os.File, error) {
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

func (p *program) exec(order process.Spec, stdin []byte) error {
	in, err := p.openStdin(stdin)
	if err != nil {
		return fmt.Errorf("give it its standard input: %w", err)
	}
	defer func() { _ = in.Close() }()
	order.Stdin = in
	if order.Dir != "" {
		// For a missing directory, the kernel would return the same error as for a missing program.
		if info, err := os.Stat(order.Dir); err != nil {
			return fmt.Errorf("its working directory: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("its working directory %s is not a directory", order.Dir)
		}
	}
	p.process, err = p.server.programs.Start(context.Background(), order)
	var refused *os.PathError
	switch {
	case errors.Is(err, process.ErrClosed):
		return errors.New("the agent is ending")
	case errors.As(err, &refused):
		return &os.PathError{Op: "exec", Path: refused.Path, Err: refused.Err}
	}
	return err
}

func (p *program) finish() {
	end := p.process.End()
	p.end = ending{
		Code: end.Code, Signal: end.Signal, Usage: end.Usage, CPU: end.CPU, Tail: end.Tail,
		Stdout: p.stdout.output(), Stderr: p.stderr.output(),
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

// stop waits until the program is started, and kills its process group. why is the reason; "" if a client requested it.
func (p *program) stop(why string) {
	<-p.forked
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil && p.process.Signal() && p.killed == "" {
		p.killed = why
	}
}

func (p *program) removeOutputs() {
	p.removed.Do(func() {
		p.stdout.remove()
		p.stderr.remove()
		_ = owned.Remove(p.dir)
		p.server.store.free(p.stdin)
	})
}

func (p *program) discard() {
	p.discarded.Do(func() {
		p.removeOutputs()
		p.server.memory.free(p.cost)
		p.server.started.free(1)
	})
}

// capture writes one output stream of a program to a file and computes its digest.
type capture struct {
	file   *os.File // nil: the output is discarded
	store  *quota   // the quota of disk space that the file's bytes count against
	digest hash.Hash
	size   atomic.Int64 // number of bytes written so far; may be read during Write
}

func (p *program) newCapture(stream string, keep bool) (*capture, error) {
	c := &capture{store: &p.server.store, digest: sha256.New()}
	if !keep {
		return c, nil
	}
	var err error
	if c.file, err = os.OpenFile(filepath.Join(p.dir, stream), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, fmt.Errorf("make a file for its %s: %w", stream, err)
	}
	return c, nil
}

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

func (c *capture) writer() io.Writer {
	if c.file == nil {
		return nil
	}
	return c
}

func (c *capture) output() output {
	return output{Size: c.size.Load(), SHA256: hex.EncodeToString(c.digest.Sum(nil))}
}

func (c *capture) remove() {
	if c != nil && c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name())
		c.store.free(c.size.Load())
	}
}
