package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/report/wording"
	"tare/internal/run/journal"
	"tare/internal/testbed"
	"tare/internal/workload"
)

// watchedSite is the site of one trial. It records the programs' stderr (if the workload reads it), exit statuses and
// leftover processes.
type watchedSite struct {
	testbed.Site

	mu        sync.Mutex
	left      []string // command lines of leftover processes
	behaviour workload.Behaviour
}

// Unwrap returns the site that w watches.
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
	said *workload.Listener // listener to the program's stderr; nil: stderr is not read
	once sync.Once
}

// Unwrap returns the process that p watches.
func (p *watchedProcess) Unwrap() testbed.Process { return p.Process }

func (p *watchedProcess) Wait() (testbed.Usage, error) {
	used, err := p.Process.Wait()
	p.once.Do(func() {
		p.at.mu.Lock()
		defer p.at.mu.Unlock()
		p.at.left = append(p.at.left, used.Left...)
		if p.said != nil {
			p.at.behaviour.Add(experiment.Stderr, p.said.Seen())
			exit, failed := errors.AsType[*testbed.ExitError](err)
			switch {
			case failed && exit.Code >= 0: // no signal ended the program
				p.at.behaviour.Add(experiment.Exit, workload.Observation{Marks: []string{strconv.Itoa(exit.Code)}, Runs: 1})
			case err == nil:
				p.at.behaviour.Add(experiment.Exit, workload.Observation{Marks: []string{"0"}, Runs: 1})
			}
		}
	})
	return used, err
}

// recordBehaviour sets the trial's behaviour. It joins what the site has observed with what the workload's result
// reports.
func (w *watchedSite) recordBehaviour(t *journal.Trial, result workload.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a, seen := range result.Behaviour {
		w.behaviour.Add(a, seen)
	}
	if _, known := w.behaviour[experiment.Answers]; result.Failed > 0 && !known {
		w.behaviour.Add(experiment.Answers, workload.Observation{Marks: []string{"operations failed"}})
	}
	t.Behaviour = w.behaviour
}

// leftShown is the maximum number of leftover processes that a trial names.
const leftShown = 5

// judge applies the rule that a program must leave no process behind.
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

// A failed clean-up is repeated after growing pauses. A cluster that is unreachable for a short time therefore does not
// end a run.
const (
	clearTries = 6
	clearPause = time.Second // pause before the second attempt
)

// clear removes all that a trial left in its site, in at most a trial's time limit. This time counts as preparation of
// the next trial.
func (r *run) clear(ctx context.Context, id trialID, clear func(context.Context) error) error {
	start := time.Now()
	defer func() { r.cleared += time.Since(start) }()
	cell, arm := r.plan.Cells[id.step.Cell], r.plan.Arms[id.step.Arm]
	limit := r.Expansion.Cells[id.step.Cell].Workload.Measures().Bound()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := clearPause
	for tries := 1; ; tries++ {
		err := clear(limited)
		if err == nil || ctx.Err() != nil {
			return nil // if the run was interrupted, the next trial reports this
		}
		if tries < clearTries && testbed.Pause(limited, pause) == nil {
			pause *= 2
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		attempts := "one attempt"
		if tries > 1 {
			attempts = fmt.Sprintf("%d attempts", tries)
		}
		return fmt.Errorf("clear up after %s in arm %s, round %d (%s in %v, the limit is %v): %w",
			cell.ID, arm.Name, id.round, attempts, time.Since(start).Round(time.Millisecond), quantity.Duration(limit), err)
	}
}
