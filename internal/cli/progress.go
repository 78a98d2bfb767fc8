package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tare/internal/analysis"
	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/report/wording"
	"tare/internal/run/runner"
	"tare/internal/text/mask"
	"tare/internal/text/safetext"
)

// progress shows the progress of a run on stderr: one live line on a terminal, plain lines on a pipe. It writes only at
// events, so no trial is disturbed.
type progress struct {
	mu      sync.Mutex // held while an event is handled
	w       io.Writer
	screen  io.Writer // output on which a line can be overwritten
	live    bool
	dir     string
	last    int             // width of the live line
	columns func() int      // returns the terminal's width, or 0 if the width is unknown; nil without a terminal
	failed  int             // number of trials that count as failures of their arm
	spoilt  int             // number of trials that broke another rule; each was repeated while attempts were left
	shown   map[string]bool // texts passed to wait that were already printed on a pipe
	mask    *mask.Mask
	interim interim
}

func newProgress(s State, dir string, quiet bool) *progress {
	p := &progress{shown: map[string]bool{}, w: s.Stderr, screen: s.screen, live: s.StderrTerminal, dir: dir, columns: s.Columns}
	if quiet {
		p.w, p.screen = io.Discard, io.Discard
	}
	return p
}

func (p *progress) begin(plan *experiment.Plan) {
	rounds := fmt.Sprintf("%d rounds", plan.Total())
	if plan.Precision > 0 {
		rounds = fmt.Sprintf("a pilot of %d rounds for ±%v", plan.Rounds, plan.Precision)
	} else if len(plan.DecideAt) > 0 {
		rounds = "at most " + rounds
	}
	fmt.Fprintf(p.w, "%s: %s × %s, %s, seed %d, about %s\n", plan.Name, counted(len(plan.Arms), "arm"), counted(len(plan.Cells), "cell"), rounds, plan.Seed, span(plan.Duration(plan.Rounds)))
	fmt.Fprintf(p.w, "run directory: %s\n", p.dir)
	if text := fewRounds(plan); text != "" {
		fmt.Fprintf(p.w, "warning: %s\n", text)
	}
}

func (p *progress) event(e runner.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case runner.SiteReady:
		p.status("set up " + e.Arm)
	case runner.TrialStarted:
		p.trial(e.Progress, e.Round, e.Rounds, e.Arm+"  "+e.Cell)
	case runner.BlockStarted:
		p.trial(e.Progress, e.Round, e.Rounds, fmt.Sprintf("%s in %d slices  %s", strings.Join(e.Arms, ", "), e.Slices, e.Cell))
	case runner.TrialDone:
		p.done(e)
	case runner.Resting:
		p.status(fmt.Sprintf("the machine is busy: next attempt in %s (%s)", brief(e.Pause), e.Why.Detail))
	case runner.Waiting:
		p.busy(e)
	case runner.SettingUp:
		p.status(fmt.Sprintf("setting all arms up anew (set-up %d)", e.Number))
	case runner.SetUpsFixed:
		p.line(e.Why)
	case runner.ExtraRoundsAdded:
		p.line(fmt.Sprintf("%s made up for, which the machine's condition or a failed proof has cost", wording.Count(e.Rounds, "round is", "rounds are")))
	case runner.Trying:
		p.waiting(fmt.Sprintf("trying %s in arm %s", e.Workload, e.Arm))
	case runner.SetUpAnew:
		p.line(fmt.Sprintf("%s is set up anew: %s", e.Arm, safetext.Line(e.Why)))
	case runner.ArmDropped:
		p.line(fmt.Sprintf("%s is left out from here on: %s", e.Arm, safetext.Line(e.Why.Error())))
	case runner.EndedEarly:
		p.line(fmt.Sprintf("the machine stays too busy to measure on: the run is done with %d of %d rounds", e.Rounds, e.Of))
	case runner.Decided:
		p.line(fmt.Sprintf("everything is decided after %d of at most %d rounds", e.Rounds, e.Of))
	case runner.RoundsFixed:
		p.line(fmt.Sprintf("the pilot fixes the number of rounds at %d", e.Rounds))
	}
}

// trial shows that a trial begins, and the estimates from the earlier rounds.
func (p *progress) trial(at runner.Progress, round, rounds int, what string) {
	if p.interim.begins(round, rounds) && !p.live {
		p.line(fmt.Sprintf("%d/%d rounds, %s", round-1, rounds, p.interim.text))
	}
	text := fmt.Sprintf("%d/%d trials, %s left  round %d/%d  %s", at.Done, at.Total, span(at.Left), round, rounds, what)
	if p.interim.text != "" {
		text += "  " + p.interim.text
	}
	p.status(text)
}

// busy shows that the run waits for a busy machine. It prints a line when the wait begins. On a terminal, the live line
// shows the remaining time.
func (p *progress) busy(e runner.Waiting) {
	if e.First {
		p.line(fmt.Sprintf("the machine is too busy to measure on: waiting up to %s for it (%s)", span(e.Left), safetext.Line(e.Why)))
	}
	p.status(fmt.Sprintf("waiting for the machine, %s left  %s", span(e.Left), safetext.Line(e.Why)))
}

// wait shows a text about waiting. It may be called from several goroutines.
func (p *progress) wait(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting(what)
}

func (p *progress) waiting(what string) {
	what = safetext.Line(what)
	if p.live {
		p.status(what)
		return
	}
	if !p.shown[what] { // each set-up repeats this text, which is printed once
		p.shown[what] = true
		p.line(what)
	}
}

// done reports a finished trial. On a pipe, it prints every trial. On a terminal, it prints only trials that broke a
// rule.
func (p *progress) done(e runner.TrialDone) {
	t := e.Trial
	name := fmt.Sprintf("round %d  %s  %s", t.Round, t.Cell, t.Arm)
	if !t.Valid() {
		what := "invalid"
		if p.spoilt++; e.Failed {
			what = "failed"
			p.failed, p.spoilt = p.failed+1, p.spoilt-1
		}
		p.line(fmt.Sprintf("%s: %s (%s: %s)", name, what, e.Why.Rule, safetext.Line(e.Why.Detail)))
		return
	}
	if !p.live {
		p.line(fmt.Sprintf("%s: done in %s; %d/%d trials, %s left", name, brief(t.Wall), e.Progress.Done, e.Progress.Total, span(e.Progress.Left)))
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status("")
	if p.spoilt > 0 {
		fmt.Fprintf(p.w, "%s spoilt, and repeated where attempts were left\n", wording.Count(p.spoilt, "trial was", "trials were"))
	}
	if p.failed > 0 {
		fmt.Fprintf(p.w, "%s failed, which counts as a result\n", counted(p.failed, "trial"))
	}
}

// status replaces the live line. A text wider than the terminal is cut, since a wrapped line cannot be replaced.
func (p *progress) status(text string) {
	if !p.live || text == "" && p.last == 0 {
		return
	}
	runes := []rune(safetext.Name(p.mask.Text(text)))
	if p.columns != nil {
		if w := p.columns(); w > 0 && len(runes) >= w {
			runes = append(runes[:max(w-2, 0)], '…')
		}
	}
	pad := strings.Repeat(" ", max(p.last-len(runes), 0))
	fmt.Fprintf(p.screen, "\r%s%s\r%s", string(runes), pad, string(runes))
	p.last = len(runes)
}

func (p *progress) line(text string) {
	p.status("")
	fmt.Fprintln(p.w, safetext.Name(p.mask.Text(text)))
}

// span formats an estimated time: 2m30s, 45s.
func span(d time.Duration) string {
	if d > 10*time.Minute {
		return quantity.Duration(d.Round(time.Minute)).String()
	}
	return quantity.Duration(d.Round(time.Second)).String()
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// brief formats a measured time: 12ms, 3.1s.
func brief(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// interim holds the estimates of a run in progress, made between trials. They are no verdicts, and do not influence the
// number of rounds.
type interim struct {
	analyze  func() *analysis.Run
	round    int    // current round
	text     string // estimates from the earlier rounds
	quarters int    // number of quarters of the run that were printed on a pipe
}

// begins updates the interim estimates when a new round begins. It returns true if the run has passed another quarter
// of its rounds.
func (i *interim) begins(round, rounds int) (quarter bool) {
	if i.analyze == nil || round <= i.round {
		return false
	}
	i.round = round
	if round < 3 { // an interval needs two complete rounds
		return false
	}
	i.text = estimates(i.analyze())
	if now := 4 * (round - 1) / max(rounds, 1); now > i.quarters && i.text != "" {
		i.quarters, quarter = now, true
	}
	return quarter
}

// estimates returns the estimates of at most two headline comparisons.
func estimates(r *analysis.Run) string {
	var all []string
	more := false
	for _, c := range r.Comparisons {
		if !c.Metric.Headline || !wording.HasNumbers(c) {
			continue
		}
		if more = len(all) == 2; more {
			break
		}
		name := c.Arm
		if len(r.Plan.Cells) > 1 {
			name += ", " + c.Cell
		}
		all = append(all, fmt.Sprintf("%s %s %s", name, c.Metric.Name, wording.Estimate(c)))
	}
	if len(all) == 0 {
		return ""
	}
	if more {
		all = append(all, "…")
	}
	return "interim: " + strings.Join(all, "; ")
}
