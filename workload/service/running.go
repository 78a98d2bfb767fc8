// Package service is the server that a workload's load goes to: a program that stays up at the
// site of an arm between trials, under the arm's layers, while the load comes from a client
// beside it.
//
//	workloads:
//	  - command:
//	      run: [./client, --to, $(TARE_PEER), --port, $(TARE_PORT)]
//	      server:
//	        run: [./server, --listen, $(TARE_PORT)]
//	        ready: {log: 'listening'}
//
// It is started when the site is ready and the arm's layers are up, and counts as ready when
// the client's pod reaches it. What it prints during a trial is kept with the trial. CPU time
// and memory are its own part. Its end is a failure of the trial under way, and has the arm set
// up anew before the next one.
//
// Workloads that bring their own server (a builtin one, the members of a cluster) start its
// programs by Start.
package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tare/safetext"
	"tare/testbed"
	"tare/workload"
)

// Program is one program of a service.
type Program struct {
	Name    string // "server": of its part, and of its file in trials ("server.log")
	Where   testbed.Place
	Command testbed.Command // without outputs
}

// Running is a program that was started. It is used by one goroutine.
type Running struct {
	Program
	process testbed.Process
	printed *recent
	streams [2]*stream // stdout and stderr
	stop    context.CancelFunc
	done    chan struct{}
	err     error // of its end, once done is closed
}

// Start starts a program, which runs until Down.
func Start(ctx context.Context, site testbed.Site, p Program) (*Running, error) {
	r := &Running{Program: p, printed: new(recent), done: make(chan struct{})}
	for i, name := range []string{"stdout", "stderr"} {
		r.streams[i] = &stream{name: name, to: r.printed}
	}
	p.Command.Stdout, p.Command.Stderr = r.streams[0], r.streams[1]
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if r.process, err = site.Start(ctx, p.Where, p.Command); err != nil {
		r.stop()
		return nil, fmt.Errorf("the %s cannot be started: %w", p.Name, err)
	}
	go func() {
		_, r.err = r.process.Wait()
		close(r.done)
	}()
	return r, nil
}

// Ended is closed when the program has ended.
func (r *Running) Ended() <-chan struct{} { return r.done }

// Check says that the program has ended, and why.
func (r *Running) Check(context.Context) error {
	select {
	case <-r.done:
	default:
		return nil
	}
	var lost *testbed.Disturbance
	if errors.As(r.err, &lost) {
		return r.err
	}
	why := "it ended by itself"
	if r.err != nil {
		why = r.err.Error()
	}
	var exit *testbed.ExitError
	if last := r.printed.last(); last != "" && (!errors.As(r.err, &exit) || exit.Stderr == "") {
		why += fmt.Sprintf("; the last that it printed: %s", last)
	}
	return fmt.Errorf("the %s has ended: %s", r.Name, why)
}

// Judge says that the program has ended during a trial, which breaks a rule.
func (r *Running) Judge(ctx context.Context) error {
	err := r.Check(ctx)
	var lost *testbed.Disturbance
	if err == nil || errors.As(err, &lost) {
		return err
	}
	return &workload.Invalid{Rule: workload.RuleServer, Detail: err.Error()}
}

// read reads what the program has printed since, where that does not come by itself.
func (r *Running) read() error {
	p, ok := r.process.(testbed.Printer)
	if !ok {
		return nil
	}
	return errors.Join(r.streams[0].read(p), r.streams[1].read(p))
}

// Log keeps with a trial what was printed since the last call.
func (r *Running) Log(raw workload.Raw) error {
	if err := r.read(); err != nil {
		return err
	}
	file, err := raw.Create(r.Name + ".log")
	if err != nil {
		return err
	}
	_, err = file.Write(r.printed.take())
	return errors.Join(err, file.Close())
}

// Down ends the program. To do so again does nothing.
func (r *Running) Down(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	default:
	}
	err := r.process.Kill()
	r.stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return errors.Join(err, fmt.Errorf("the %s has not ended: %w", r.Name, ctx.Err()))
	}
}

// CPU is the CPU time that the program has used so far, for workload.Running.
func (r *Running) CPU() (time.Duration, error) { return r.process.CPU() }

// Memory is the program's resident memory now, in bytes.
func (r *Running) Memory() (int64, error) { return r.process.Memory() }

// Account begins an account of what the program uses.
func (r *Running) Account() (Account, error) { return Begin(r.process) }

// Since returns what the program has used since an account began.
func (r *Running) Since(a Account) (testbed.Usage, error) { return a.Since(r.process) }

// stream takes an output, as it is written or in pieces that are read before.
type stream struct {
	name string
	to   *recent

	mu  sync.Mutex
	had int64 // bytes that were read, and come again when the program has ended
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := min(s.had, int64(len(b)))
	s.had -= again
	_, err := s.to.Write(b[again:])
	return len(b), err
}

// read reads what there is so far.
func (s *stream) read(p testbed.Printer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		piece, err := p.Printed(s.name, s.had)
		if err != nil || len(piece) == 0 {
			return err
		}
		s.had += int64(len(piece))
		_, _ = s.to.Write(piece)
	}
}

// recent keeps the end of what a program prints.
type recent struct {
	mu      sync.Mutex
	text    []byte
	dropped int // bytes before
}

// mostRecent is how much is kept of what a program prints between two trials, in bytes.
const mostRecent = 1 << 20

var _ io.Writer = (*recent)(nil)

func (r *recent) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, b...)
	if over := len(r.text) - mostRecent; over > 0 {
		r.text = append(r.text[:0], r.text[over:]...)
		r.dropped += over
	}
	return len(b), nil
}

// take gives what was printed since the last call.
func (r *recent) take() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.text
	if r.dropped > 0 {
		text = append(fmt.Appendf(nil, "[%d bytes before are not kept]\n", r.dropped), text...)
	}
	r.text, r.dropped = nil, 0
	return text
}

// last is the end of what was printed, on one line.
func (r *recent) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return safetext.Line(string(r.text[max(0, len(r.text)-400):]))
}

// holds says whether what was printed since the last take matches.
func (r *recent) holds(match func([]byte) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return match(r.text)
}
