package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Undo describes how to restore state of the whole machine or cluster. A layer has changed this state, and
// the change outlives Tare. If the run is killed, tare clean lists the Undo, and tare resume restores the
// state. The run directory stores the Undo. It must therefore not hold a secret.
type Undo struct {
	Layer    string          `json:"layer"`    // kind of the layer
	Key      string          `json:"key"`      // name that is unique within the run
	To       string          `json:"to"`       // state to restore, such as "off"
	Commands [][]string      `json:"commands"` // commands that restore the state, for the user to read
	How      json.RawMessage `json:"how"`      // the layer's own data, for Kind.Undo
}

// NoteUndo notes in the run's ledger that a layer is about to change an object. Layers of this kind recognise
// the object by its name. down undoes the change, and notes in the ledger that the change has been undone.
func (r *Run) NoteUndo(
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
		return r.Ledger().Undone(u.Key)
	}
	return down, r.Ledger().NoteUndo(u)
}

// Name returns the name of the object that the Undo is about. If the name does not start with prefix, this is
// an error.
func (u Undo) Name(prefix string) (name string, err error) {
	if err := json.Unmarshal(u.How, &name); err != nil || !strings.HasPrefix(name, prefix) {
		return "", errors.Join(fmt.Errorf("the undo entry of %s names an object of someone else", u.Layer), err)
	}
	return name, nil
}

// Ledger stores durably what a run has to undo (journal.Journal implements it).
type Ledger interface {
	// NoteUndo is called before a change. u replaces an earlier Undo with the same key.
	NoteUndo(u Undo) error
	// Undone is called after the change has been undone.
	Undone(key string) error
}

// noLedger is a Ledger that stores nothing.
type noLedger struct{}

func (noLedger) NoteUndo(Undo) error { return nil }
func (noLedger) Undone(string) error { return nil }

// Ledger returns the run's ledger.
func (r *Run) Ledger() Ledger {
	if r.ledger == nil {
		return noLedger{}
	}
	return r.ledger
}
