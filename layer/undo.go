package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Undo is what turns back something that a layer has changed for everyone, and that
// outlives Tare: should the run be killed, tare clean names it, and tare resume does it.
// It is written into the run directory, and so holds no secret.
type Undo struct {
	Layer    string          `json:"layer"`    // kind
	Key      string          `json:"key"`      // tells it from others of the run
	To       string          `json:"to"`       // the state to be had again: "off"
	Commands [][]string      `json:"commands"` // that do it, for who reads it
	How      json.RawMessage `json:"how"`      // the layer's own, for Kind.Undo
}

// Owe notes in the run's ledger, before it is made, something that layers of a kind know again by its name alone. Down
// undoes it, and notes that.
func (r *Run) Owe(
	kind, name, to string, undo func(context.Context) error, commands ...[]string,
) (down func(context.Context) error, err error) {
	how, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	u := Undo{Layer: kind, Key: kind + " " + name, To: to, Commands: commands, How: how}
	down = func(ctx context.Context) error {
		if err := undo(ctx); err != nil {
			return err
		}
		return r.Ledger().Paid(u.Key)
	}
	return down, r.Ledger().Owe(u)
}

// Name is that name, which must begin so.
func (u Undo) Name(prefix string) (name string, err error) {
	if err := json.Unmarshal(u.How, &name); err != nil || !strings.HasPrefix(name, prefix) {
		return "", errors.Join(fmt.Errorf("the record of %s is not its own", u.Layer), err)
	}
	return name, nil
}

// Ledger keeps what a run has to undo, durably (journal.Journal).
type Ledger interface {
	// Owe is called before something is changed. An Undo of the same key takes the
	// place of the one before.
	Owe(u Undo) error
	// Paid is called when it is undone.
	Paid(key string) error
}

// forgetful is the Ledger of a run that keeps nothing.
type forgetful struct{}

func (forgetful) Owe(Undo) error    { return nil }
func (forgetful) Paid(string) error { return nil }

// Ledger is where the run keeps what it has to undo.
func (r *Run) Ledger() Ledger {
	if r.ledger == nil {
		return forgetful{}
	}
	return r.ledger
}
