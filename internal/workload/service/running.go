// Package service starts servers that a workload's load goes to. A service stays up at the site of an arm between
// trials, under the arm's layers. The load comes from a client in another pod.
//
//	workloads:
//	  - command:
//	      run: [./client, --to, $(TARE_PEER), --port, $(TARE_PORT)]
//	      server:
//	        run: [./server, --listen, $(TARE_PORT)]
//	        ready: {log: 'listening'}
//
// A service starts when the site is ready and the arm's layers are up. It is ready when the client's pod reaches it, or
// when its output shows so (Ready). Its output during a trial is recorded with the trial. Its CPU time and memory are
// counted separately from the client's. If the service ends, the trial under way fails, and the arm is set up again
// before the next trial.
//
// Workloads start servers of other kinds, such as builtin servers or the members of a cluster, by the function Start.
package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/workload"
)

// Program is one program of a service, with the command that starts it.
type Program struct {
	Name    string // name, such as "server"; also names the log file and the part in costs
	Where   testbed.Place
	Command testbed.Command // command; Start sets its outputs
}

// Running is a program that was started. Only one goroutine may use it.
type Running struct {
	Program
	process testbed.Process
	printed *outputTail
	streams [2]*outputStream // streams of stdout and stderr
	stop    context.CancelFunc
	done    chan struct{}
	err     error // error with which the program ended; valid once done is closed
}

// Start starts a program, which runs until Down.
func Start(ctx context.Context, site testbed.Site, p Program) (*Running, error) {
	r := &Running{Program: p, printed: new(outputTail), done: make(chan struct{})}
	for i, name := range []string{"stdout", "stderr"} {
		r.streams[i] = &outputStream{name: name, to: r.printed}
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

// Ended returns a channel that is closed when the program ends.
func (r *Running) Ended() <-chan struct{} { return r.done }

// Check returns an error with the cause if the program has ended.
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
		why += fmt.Sprintf("; its last output: %s", last)
	}
	return fmt.Errorf("the %s has ended: %s", r.Name, why)
}

// BrokenRule returns nil while the program runs, and otherwise the rule that this trial breaks. If the connection to a
// cluster is lost, it returns that error.
func (r *Running) BrokenRule(ctx context.Context) error {
	err := r.Check(ctx)
	var lost *testbed.Disturbance
	if err == nil || errors.As(err, &lost) {
		return err
	}
	return &workload.Invalid{Rule: workload.RuleServer, Detail: err.Error()}
}

// read gets new output of the program from the testbed, if the process is a testbed.Printer. For other processes it
// does nothing.
func (r *Running) read() error {
	p, ok := r.process.(testbed.Printer)
	if !ok {
		return nil
	}
	return errors.Join(r.streams[0].read(p), r.streams[1].read(p))
}

// Log writes what the program has printed since the last call of Log to a raw file of a trial.
func (r *Running) Log(raw workload.Raw) error {
	if err := r.read(); err != nil {
		return err
	}
	return workload.Keep(raw, r.Name+".log", r.printed.take())
}

// Down ends the program. A second call does nothing.
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

// CPU returns the CPU time that the program has used so far, for workload.Running.
func (r *Running) CPU() (time.Duration, error) { return r.process.CPU() }

// Memory returns the program's resident memory now, in bytes.
func (r *Running) Memory() (int64, error) { return r.process.Memory() }

// outputStream receives the stdout or stderr of a program, by Write. If the testbed implements testbed.Printer, the
// method read asks it for the output instead.
type outputStream struct {
	name string
	to   *outputTail

	mu          sync.Mutex
	alreadyRead int64 // bytes that read has received; Write gets them again when the program ends, and ignores them
}

func (s *outputStream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := min(s.alreadyRead, int64(len(b)))
	s.alreadyRead -= again
	_, err := s.to.Write(b[again:])
	return len(b), err
}

func (s *outputStream) read(p testbed.Printer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		piece, err := p.Printed(s.name, s.alreadyRead)
		if err != nil || len(piece) == 0 {
			return err
		}
		s.alreadyRead += int64(len(piece))
		_, _ = s.to.Write(piece)
	}
}

// outputTail keeps the last part of a program's output.
type outputTail struct {
	mu      sync.Mutex
	text    []byte
	dropped int // number of older bytes that were dropped
}

// maxTail is the largest part of the output, in bytes, that is kept between two trials.
const maxTail = 1 << 20

func (r *outputTail) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, b...)
	if over := len(r.text) - maxTail; over > 0 {
		r.text = append(r.text[:0], r.text[over:]...)
		r.dropped += over
	}
	return len(b), nil
}

// take returns the output since the last call.
func (r *outputTail) take() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.text
	if r.dropped > 0 {
		text = append(fmt.Appendf(nil, "[%d earlier bytes were dropped]\n", r.dropped), text...)
	}
	r.text, r.dropped = nil, 0
	return text
}

func (r *outputTail) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return safetext.Line(string(r.text[max(0, len(r.text)-400):]))
}

// matches calls the function match with the output since the last call of take, and returns what match returns.
func (r *outputTail) matches(match func([]byte) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return match(r.text)
}

// Process is a process whose CPU time and memory a trial accounts for.
type Process interface {
	CPU() (time.Duration, error)
	Memory() (int64, error)
}

// Account is a reading of a process's CPU time. The method Since returns the CPU time that the process has used after
// this reading.
type Account struct {
	at        time.Time
	cpu       time.Duration
	uncounted bool
}

// Begin begins an account of a process.
func Begin(process Process) (Account, error) {
	cpu, err := process.CPU()
	uncounted := errors.Is(err, testbed.ErrUncounted)
	if uncounted {
		err = nil
	}
	return Account{time.Now(), cpu, uncounted}, err
}

// Since returns the process's usage since the account began. All CPU time counts as user time. The memory is the
// resident memory at the time of the call.
func (a Account) Since(process Process) (testbed.Usage, error) {
	now, err := Begin(process)
	if err != nil {
		return testbed.Usage{}, err
	}
	if now.uncounted {
		return testbed.Usage{Wall: now.at.Sub(a.at), Unavailable: true}, nil
	}
	memory, err := process.Memory()
	if err != nil {
		return testbed.Usage{}, err
	}
	return testbed.Usage{User: now.cpu - a.cpu, Wall: now.at.Sub(a.at), MaxRSS: memory}, nil
}

// Parts lists the processes that a trial accounts for, by part: "client", "server".
type Parts map[string][]Process

// Begin reads the CPU time of all processes. The function end returns each part's CPU time since then, and its memory,
// as sums over its processes.
func (p Parts) Begin() (end func() (map[string]testbed.Usage, error), err error) {
	begun := map[Process]Account{}
	for _, processes := range p {
		for _, process := range processes {
			if begun[process], err = Begin(process); err != nil {
				return nil, err
			}
		}
	}
	return func() (map[string]testbed.Usage, error) {
		used := map[string]testbed.Usage{}
		for part, processes := range p {
			sum := testbed.Usage{}
			for _, process := range processes {
				one, err := begun[process].Since(process)
				if err != nil {
					return nil, err
				}
				sum.User, sum.MaxRSS, sum.Wall = sum.User+one.User, sum.MaxRSS+one.MaxRSS, one.Wall
				sum.Unavailable = sum.Unavailable || one.Unavailable
			}
			used[part] = sum
		}
		return used, nil
	}, nil
}

// Each calls a function for all clients of a load at the same time. It returns the function's results in the order
// of the clients.
func Each[C, T any](clients []C, do func(i int, client C) (T, error)) ([]T, error) {
	all, errs := make([]T, len(clients)), make([]error, len(clients))
	var wait sync.WaitGroup
	for i, c := range clients {
		wait.Go(func() { all[i], errs[i] = do(i, c) })
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// ClockAhead measures by how much a client's clock, which the function now reads, is ahead of this machine's. The error
// of ahead is at most within: half of the fastest response time.
func ClockAhead(now func() (time.Time, error)) (ahead, within time.Duration, err error) {
	for i := range 3 {
		before := time.Now()
		at, err := now()
		if err != nil {
			return 0, 0, err
		}
		if half := time.Since(before) / 2; i == 0 || half < within {
			ahead, within = at.Sub(before.Add(half).Round(0)), half
		}
	}
	return ahead, within, nil
}
