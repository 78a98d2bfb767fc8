package toggle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"tare/internal/experiment/environ"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/evidence"
	"tare/internal/layer/placeholder"
	"tare/internal/testbed"
)

type commandRunner struct {
	config *config
	site   testbed.Site
	values placeholder.Values
	env    []string
	dir    string // working directory of the commands; "": Tare's own
}

func (o *commandRunner) run(ctx context.Context, args reference.Arguments, limit time.Duration) (string, error) {
	filled, err := args.Resolve(ctx, o.values.Fill)
	if err != nil {
		return "", err
	}
	return evidence.Output(ctx, o.site, testbed.Host, testbed.Command{Args: filled, Env: o.env, Dir: o.dir}, limit)
}

// look runs the check's program. It returns the state that the output shows, and a check that compares this state with
// the expected state, want.
func (o *commandRunner) look(ctx context.Context, want evidence.State) (evidence.State, layer.Check, error) {
	c := o.config.Check
	text, failed := o.run(ctx, c.Run, evidence.Limit)
	if ctx.Err() != nil {
		return evidence.Unclear, layer.Check{}, ctx.Err()
	}
	return c.patterns().State(text, failed), c.patterns().Check(name, testbed.Quote(c.Run), want, text, failed), nil
}

func (o *commandRunner) check(ctx context.Context, want evidence.State) (layer.Check, error) {
	_, check, err := o.look(ctx, want)
	return check, err
}

func word(s evidence.State) string {
	return map[evidence.State]string{evidence.On: "on", evidence.Off: "off"}[s]
}

// A switch that is being turned is looked at again and again. The first pause is firstLook, and the longest is
// rareLook.
const (
	firstLook = 100 * time.Millisecond
	rareLook  = 2 * time.Second
)

func (o *commandRunner) turn(ctx context.Context, commands []reference.Arguments, want evidence.State) error {
	limit := o.config.Limit.Std()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, args := range commands {
		if _, err := o.run(limited, args, 2*limit); err != nil { // without effect: the context ends before this timeout is reached
			if ctx.Err() == nil && limited.Err() != nil {
				err = fmt.Errorf("%s: not finished within %v", testbed.Quote(args), limit)
			}
			return fmt.Errorf("turn it %s: %w", word(want), err)
		}
	}
	var last layer.Check
	for pause := firstLook; ; pause = min(2*pause, rareLook) {
		state, check, err := o.look(limited, want)
		switch {
		case err == nil && state == want:
			return nil
		case err == nil:
			last = check
		case limited.Err() == nil:
			return err
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("turn the switch %s: %s does not show this state within %v: expected %s, observed %s", word(want), last.Name, limit, last.Expected, last.Observed)
		}
	}
}

type active struct {
	*commandRunner
	*switchState
	ledger layer.Ledger
	on     bool
	done   bool // set when the layer has been taken down
}

// begin makes sure that the switch is off before the first site. A switch that is on ends the run, since someone else
// may need the switch. With found: restore, begin turns the switch off until the end of the run.
func (a *active) begin(ctx context.Context) error {
	if a.sites > 0 {
		a.sites++
		return nil
	}
	state, check, err := a.look(ctx, evidence.Off)
	if err != nil {
		return err
	}
	switch state {
	case evidence.Unclear:
		return fmt.Errorf("the check's output matches neither on nor off: %s: expected %s, observed %s", check.Name, check.Expected, check.Observed)
	case evidence.On:
		if check, err = a.clear(ctx, check); err != nil {
			return err
		}
	}
	check.Name += " before the run"
	a.found, a.sites = check, 1
	return nil
}

func (a *active) clear(ctx context.Context, found layer.Check) (layer.Check, error) {
	if a.config.Found != restore {
		return found, fmt.Errorf("the switch is on already, and this run has not turned it on (%s: observed %s): "+
			"turn it off first if nobody needs it, or set found: restore, so that it is off during the run and on again after it; "+
			"tare clean lists switches that killed runs have left on", found.Name, found.Observed)
	}
	if err := a.owe(evidence.On); err != nil {
		return found, err
	}
	if err := a.turn(ctx, a.config.Off, evidence.Off); err != nil {
		back := a.turn(context.WithoutCancel(ctx), a.config.On, evidence.On)
		if back == nil {
			back = a.ledger.Undone(a.key)
		}
		return found, errors.Join(err, back)
	}
	a.wasOn = true
	off, err := a.check(ctx, evidence.Off)
	off.Caveat = "the switch was on before the run and was turned off; it is turned on again after the run"
	return off, err
}

// turnOn turns the switch on or, if that fails, off again.
func (a *active) turnOn(ctx context.Context) error {
	if !a.wasOn { // if the switch was on before the run, the change to undo is already recorded
		if err := a.owe(evidence.Off); err != nil {
			return err
		}
	}
	a.on = true // a command that fails may still have turned the switch on
	if err := a.turn(ctx, a.config.On, evidence.On); err != nil {
		return errors.Join(err, a.turnOff(context.WithoutCancel(ctx)))
	}
	return nil
}

func (a *active) turnOff(ctx context.Context) error {
	if !a.on {
		return nil
	}
	if err := a.turn(ctx, a.config.Off, evidence.Off); err != nil {
		return err
	}
	a.on = false
	if a.wasOn {
		return nil
	}
	return a.ledger.Undone(a.key)
}

func (a *active) before(ctx context.Context, _ testbed.Site) ([]layer.Check, error) {
	check, err := a.check(ctx, evidence.On)
	return []layer.Check{check}, err
}

// down turns an exclusive switch off, and any other switch at its last site. At the last site, it restores the state
// from before the run.
func (a *active) down(ctx context.Context) error {
	if a.done {
		return nil
	}
	if a.config.Exclusive || a.sites == 1 {
		if err := a.turnOff(ctx); err != nil {
			return err
		}
	}
	a.done = true
	a.sites--
	if a.sites > 0 || !a.wasOn {
		return nil
	}
	if err := a.turn(ctx, a.config.On, evidence.On); err != nil {
		return err
	}
	a.wasOn = false
	return a.ledger.Undone(a.key)
}

const kubeconfig = "KUBECONFIG" // the variable that names the configuration with which the commands reach their cluster

// undoData is all that another process needs to restore the switch's state from before the run. References stand in
// place of secrets.
type undoData struct {
	Commands   []reference.Arguments `json:"commands"`
	Check      check                 `json:"check"`
	Limit      time.Duration         `json:"limit"`
	Env        environ.Variables     `json:"env,omitempty"`
	Values     placeholder.Values    `json:"values,omitempty"`
	Kubeconfig string                `json:"kubeconfig,omitempty"`
	Dir        string                `json:"dir"` // working directory of the commands
}

// owe notes in the ledger how to restore a state of the switch. It is called before the switch is turned.
func (a *active) owe(to evidence.State) error {
	c := a.config
	h := undoData{Commands: c.Off, Check: c.Check, Limit: c.Limit.Std(), Env: c.Env, Values: a.values, Kubeconfig: os.Getenv(kubeconfig)}
	if to == evidence.On {
		h.Commands = c.On
	}
	var err error
	if h.Dir, err = os.Getwd(); err != nil {
		return fmt.Errorf("store how to turn the switch back: %w", err)
	}
	u := layer.Undo{Layer: name, Key: a.key, To: word(to)}
	for _, args := range h.Commands {
		var shown []string // the commands as users see them, with references in place of secrets
		for _, arg := range args {
			filled, err := a.values.Fill(arg)
			if err != nil {
				return fmt.Errorf("turn it %s: %w", u.To, err)
			}
			shown = append(shown, filled)
		}
		u.Commands = append(u.Commands, shown)
	}
	if u.How, err = json.Marshal(h); err != nil {
		return fmt.Errorf("store how to turn the switch back: %w", err)
	}
	return a.ledger.NoteUndo(u)
}

func undo(ctx context.Context, site testbed.Site, u layer.Undo) error {
	var h undoData
	if err := json.Unmarshal(u.How, &h); err != nil {
		return fmt.Errorf("read how to turn the switch %s: %w", u.To, err)
	}
	env, err := h.Env.Resolve(ctx)
	if err != nil {
		return err
	}
	o := &commandRunner{
		config: &config{Check: h.Check, Limit: quantity.Duration(h.Limit)}, site: site, values: h.Values, dir: h.Dir,
		env: append(append(environ.Assignments(env), environ.Assignments(h.Values)...), kubeconfig+"="+h.Kubeconfig),
	}
	want := evidence.Off
	if u.To == word(evidence.On) {
		want = evidence.On
	}
	state, _, err := o.look(ctx, want)
	if err != nil || state == want {
		return err
	}
	return o.turn(ctx, h.Commands, want)
}
