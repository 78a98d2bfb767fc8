package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"tare/internal/experiment"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// watchedSite is the site of one trial. It records the behaviour of the trial's programs: their stderr (if
// the workload reads it), exit statuses and leftover processes.
type watchedSite struct {
	testbed.Site

	mu        sync.Mutex
	left      []string // command lines of leftover processes
	behaviour workload.Behaviour
}

// Unwrap returns the original site.
func (w *watchedSite) Unwrap() testbed.Site { return w.Site }

func (w *watchedSite) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
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
	at   *watchedSite
	said *workload.Listener // nil: stderr is not read
	once sync.Once
}

// Unwrap returns the original process.
func (p *watchedProcess) Unwrap() testbed.Process { return p.Process }

func (p *watchedProcess) Wait() (testbed.Usage, error) {
	used, err := p.Process.Wait()
	p.once.Do(func() {
		p.at.mu.Lock()
		defer p.at.mu.Unlock()
		p.at.left = append(p.at.left, used.Left...)
		if p.said != nil {
			p.at.add(experiment.Stderr, p.said.Seen())
			exit, failed := errors.AsType[*testbed.ExitError](err)
			switch {
			case failed && exit.Code >= 0: // the program ended by itself
				p.at.add(experiment.Exit, workload.Observation{Marks: []string{strconv.Itoa(exit.Code)}, Runs: 1})
			case err == nil:
				p.at.add(experiment.Exit, workload.Observation{Marks: []string{"0"}, Runs: 1})
			}
		}
	})
	return used, err
}

func (w *watchedSite) add(a experiment.Aspect, seen workload.Observation) {
	if w.behaviour == nil {
		w.behaviour = workload.Behaviour{}
	}
	w.behaviour.Add(a, seen)
}

// recordBehaviour adds the observed behaviour to the trial, including that reported by the workload.
func (w *watchedSite) recordBehaviour(t *journal.Trial, result workload.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a, seen := range result.Behaviour {
		w.add(a, seen)
	}
	if _, told := w.behaviour[experiment.Answers]; result.Failed > 0 && !told {
		w.add(experiment.Answers, workload.Observation{Marks: []string{"operations failed"}})
	}
	t.Behaviour = w.behaviour
}

// leftShown is the maximum number of leftover processes that a trial names.
const leftShown = 5

// judge applies the rule against leftover processes.
func (w *watchedSite) judge(t *journal.Trial) {
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
