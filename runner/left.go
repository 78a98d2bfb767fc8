package runner

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"tare/journal"
	"tare/testbed"
	"tare/wording"
	"tare/workload"
)

// watched is the site of one trial, which notes what its programs left running.
type watched struct {
	testbed.Site

	mu   sync.Mutex
	left []string // command lines
}

// Unwrap is the site that is watched.
func (w *watched) Unwrap() testbed.Site { return w.Site }

func (w *watched) Start(ctx context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	p, err := w.Site.Start(ctx, where, cmd)
	if err != nil {
		return nil, err
	}
	return &watchedProcess{Process: p, at: w}, nil
}

type watchedProcess struct {
	testbed.Process
	at   *watched
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
	})
	return used, err
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
