package layer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/local"
)

// Session holds the site at which a layer works, and the state of the run.
type Session struct {
	*Run
	// Site is the site to work at. For Up it has just been made. For ProveOff it has the wrappers of its arm's layers,
	// as for the workload.
	Site testbed.Site
	// Places are the places where subjects are started. The place testbed.Host stands for every place on this machine.
	Places []testbed.Place
	// Own is the site's own layer of this kind, with other parameters; nil if none. Its settings are no evidence that
	// another arm's layer is on. Own is set only for ProveOff and ProveOffAfter, if the layer declares ProvesBeside.
	// Without ProvesBeside and OwnProves, the runner notes that absence was not checked.
	Own Layer
}

// Without returns a copy of c without the parameters that own, the Session.Own, sets. Of a map, it removes only own's
// keys. If own is nil, Without returns c itself.
func Without[C any](c *C, own Layer) *C {
	o, _ := any(own).(*C)
	if o == nil {
		return c
	}
	left := *c
	to, sets := reflect.ValueOf(&left).Elem(), reflect.ValueOf(o).Elem()
	for i := range to.NumField() {
		switch set := sets.Field(i); {
		case set.Kind() == reflect.Map:
			rest := reflect.MakeMap(set.Type())
			for _, key := range to.Field(i).MapKeys() {
				if !set.MapIndex(key).IsValid() {
					rest.SetMapIndex(key, to.Field(i).MapIndex(key))
				}
			}
			to.Field(i).Set(rest)
		case set.Kind() == reflect.Slice && set.Len() > 0, set.Kind() != reflect.Slice && !set.IsZero():
			to.Field(i).SetZero()
		}
	}
	return &left
}

// Run is the state that a run's layers share in one process. The zero value is a new run without a ledger. Only one
// goroutine may use it.
type Run struct {
	ledger Ledger
	kept   map[Layer]any
}

// NewRun returns the state of a run whose layers note in a ledger what they have to undo.
func NewRun(l Ledger) *Run { return &Run{ledger: l} }

// At returns a Session for a site and the places where its subjects are started: by default, testbed.Host.
func (r *Run) At(site testbed.Site, places ...testbed.Place) *Session {
	s := &Session{Run: r, Site: site}
	remote, _ := testbed.As[testbed.Remote](site)
	for _, p := range places {
		if remote == nil || remote.Self(p) == "" {
			p = testbed.Host
		}
		if !slices.Contains(s.Places, p) {
			s.Places = append(s.Places, p)
		}
	}
	if s.Places == nil {
		s.Places = []testbed.Place{testbed.Host}
	}
	return s
}

// Everywhere makes checks at each place where subjects are started, and adds the place's name to the checks' names.
func (s *Session) Everywhere(look func(where testbed.Place) ([]Check, error)) ([]Check, error) {
	return Each(s.Places, look)
}

// Each makes checks at each of the places. It adds the place's name to the checks' names, except at testbed.Host.
func Each(places []testbed.Place, look func(where testbed.Place) ([]Check, error)) ([]Check, error) {
	var checks []Check
	for _, where := range places {
		got, err := look(where)
		if err != nil {
			return checks, err
		}
		for _, k := range got {
			if where != testbed.Host {
				k.Name += " in the " + string(where)
			}
			checks = append(checks, k)
		}
	}
	return checks, nil
}

// Kept returns a layer's state for all sites of a run: one *T for all calls, zero at first. The layer's parameters must
// not change between calls. State of one site belongs in Active.
func Kept[T any](r *Run, l Layer) *T {
	if r.kept == nil {
		r.kept = map[Layer]any{}
	}
	if _, there := r.kept[l]; !there {
		r.kept[l] = new(T)
	}
	return r.kept[l].(*T)
}

// Undo describes how to restore what a layer has changed on the machine or cluster. After a kill, tare clean lists it
// and tare resume restores the state. The run directory stores it, without secrets.
type Undo struct {
	Layer    string          `json:"layer"`    // kind of the layer
	Key      string          `json:"key"`      // name that is unique within the run
	To       string          `json:"to"`       // state to restore, such as "off"
	Commands [][]string      `json:"commands"` // commands that restore the state, for the user to read
	How      json.RawMessage `json:"how"`      // the layer's own data, for Kind.Undo
}

// NoteUndo notes in the ledger that a layer is about to change an object. Its name must be unique among objects of this
// kind of layer. down undoes the change and removes the note.
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

// Name returns the name of the object that the Undo restores. A name that does not start with prefix is an error: the
// object belongs to someone else.
func (u Undo) Name(prefix string) (name string, err error) {
	if err := json.Unmarshal(u.How, &name); err != nil || !strings.HasPrefix(name, prefix) {
		return "", errors.Join(fmt.Errorf("the undo entry of %s names an object of someone else", u.Layer), err)
	}
	return name, nil
}

// Ledger stores durably what a run has to undo (journal.Journal implements it).
type Ledger interface {
	// NoteUndo is called before a change, with the Undo that reverses it. u replaces a noted Undo of the same key.
	NoteUndo(u Undo) error
	// Undone is called after the change has been undone.
	Undone(key string) error
}

type noLedger struct{} // stores nothing

func (noLedger) NoteUndo(Undo) error { return nil }
func (noLedger) Undone(string) error { return nil }

// Ledger returns the store for what the run has to undo.
func (r *Run) Ledger() Ledger { return cmp.Or(r.ledger, Ledger(noLedger{})) }

// Try puts a layer up at a temporary site on this machine, gathers the proofs that it is on, and takes it
// down. The error names the failed checks.
func Try(ctx context.Context, needs experiment.Needs, up func(context.Context, *Session) (*Active, error)) (checks []Check, err error) {
	err = local.Try(ctx, needs, func(site testbed.Site) (err error) {
		a, err := up(ctx, new(Run).At(site))
		if err != nil {
			return err
		}
		if a.Down != nil {
			defer func() { err = errors.Join(err, a.Down(context.WithoutCancel(ctx))) }()
		}
		if staged, ok := testbed.As[testbed.Staged](site); ok {
			if err := staged.Ready(ctx); err != nil {
				return err
			}
		}
		checks = a.Proofs
		if a.Settle != nil {
			settled, err := a.Settle(ctx)
			if checks = append(checks, settled...); err != nil {
				return err
			}
		}
		if err := failed(checks); err != nil {
			return err
		}
		if a.Switch != nil {
			if err := a.Switch.On(ctx); err != nil {
				return err
			}
		}
		before, err := a.Before(ctx, site)
		checks = append(checks, before...)
		return errors.Join(err, failed(before))
	})
	return checks, err
}

func failed(checks []Check) error {
	var errs []error
	for _, c := range checks {
		if !c.OK {
			errs = append(errs, fmt.Errorf("%s: expected %s, observed %s", c.Name, c.Expected, c.Observed))
		}
	}
	return errors.Join(errs...)
}
