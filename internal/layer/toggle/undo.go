package toggle

import (
	"context"
	"encoding/json"
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

// kubeconfig is the variable that names the configuration with which the commands reach their cluster.
const kubeconfig = "KUBECONFIG"

// undoData holds everything that another process needs to turn the switch back, from any directory. Arguments
// and variables are stored as in the experiment file, with references in place of secrets.
type undoData struct {
	Commands   []reference.Arguments `json:"commands"`
	Check      check                 `json:"check"`
	Limit      time.Duration         `json:"limit"`
	Env        environ.Variables     `json:"env,omitempty"`
	Values     placeholder.Values    `json:"values,omitempty"`
	Kubeconfig string                `json:"kubeconfig,omitempty"`
	Dir        string                `json:"dir"` // working directory of the commands
}

// owe notes in the ledger, before the switch is turned, how to restore a state.
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
		var shown []string // the commands for the user, with references in place of secrets
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

// undo restores the state of a switch that a killed run has changed. If the switch has that state already, it
// does nothing.
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
		config: &Config{Check: h.Check, Limit: quantity.Duration(h.Limit)}, site: site, values: h.Values, dir: h.Dir,
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
