package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"tare/experiment"
	"tare/journal"
	"tare/testbed"
	"tare/wording"
	"tare/workload"
)

// watched is the site of one trial, which notes what its programs did: what they printed on stderr,
// where the workload reads that, how they ended, and what they left running.
type watched struct {
	testbed.Site

	mu        sync.Mutex
	left      []string // command lines
	behaviour workload.Behaviour
}

// Unwrap is the site that is watched.
func (w *watched) Unwrap() testbed.Site { return w.Site }

func (w *watched) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	var said *workload.Listener
	if cmd.Subject && cmd.Stderr != nil {
		said = &workload.Listener{Keep: true}
		cmd.Stderr = io.MultiWriter(cmd.Stderr, said)
	}
	p, err := w.Site.Start(ctx, where, cmd)
	if err != nil {
		return nil, err
	}
	return &watchedProcess{Process: p, at: w, said: said}, nil
}

type watchedProcess struct {
	testbed.Process
	at   *watched
	said *workload.Listener // nil: what it prints is not read
	once sync.Once
}

// Unwrap is the process that is watched.
func (p *watchedProcess) Unwrap() testbed.Process { return p.Process }

func (p *watchedProcess) Wait() (testbed.Usage, error) {
	used, err := p.Process.Wait()
	p.once.Do(func() {
		p.at.mu.Lock()
		defer p.at.mu.Unlock()
		p.at.left = append(p.at.left, used.Left...)
		if p.said != nil {
			p.at.add(experiment.Stderr, p.said.Seen())
			if status, ended := exitStatus(err); ended {
				p.at.add(experiment.Exit, workload.Seen{Marks: []string{fmt.Sprint(status)}, Runs: 1})
			}
		}
	})
	return used, err
}

func (w *watched) add(a experiment.Aspect, seen workload.Seen) {
	if w.behaviour == nil {
		w.behaviour = workload.Behaviour{}
	}
	w.behaviour.Add(a, seen)
}

// exitStatus is that of a program, if it ended by itself.
func exitStatus(err error) (status int, ended bool) {
	var exit *testbed.ExitError
	if errors.As(err, &exit) {
		return exit.Code, exit.Code >= 0
	}
	return 0, err == nil
}

// behave records what the programs did, and what the workload knows of it.
func (w *watched) behave(t *journal.Trial, result workload.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a, seen := range result.Behaviour {
		w.add(a, seen)
	}
	if _, told := w.behaviour[experiment.Answers]; result.Failed > 0 && !told {
		w.add(experiment.Answers, workload.Seen{Marks: []string{"operations failed"}})
	}
	t.Behaviour = w.behaviour
}

// leftShown is how many of the processes that were left running a trial names.
const leftShown = 5

// judge applies the rule on what programs leave running.
func (w *watched) judge(t *journal.Trial) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == 0 {
		return
	}
	named := strings.Join(w.left[:min(len(w.left), leftShown)], "; ")
	if more := len(w.left) - leftShown; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	violate(t, workload.RuleLeftRunning, fmt.Sprintf("when its program had ended, %s ran on and had to be killed: %s",
		wording.Count(len(w.left), "process", "processes"), named))
}
