package layer

import (
	"reflect"
	"slices"

	"tare/testbed"
)

// Session is what a layer is given to work with: one site, and what the run knows.
type Session struct {
	*Run
	// Site is where to work. Up gets it as the testbed made it; ProveOff gets it as
	// the workload of that arm does, through the wrappers of that arm's layers.
	Site testbed.Site
	// Places are where the programs under test are started, as far as they find
	// different programs there: testbed.Host stands for all places on this machine.
	Places []testbed.Place
	// Own is for ProveOff and ProveOffAfter alone: the layer of the same kind, with other parameters,
	// that the arm has itself; nil if it has none. What that one asks for must not
	// count as evidence against the arm. It is set only for layers that declare
	// ProvesBeside; of others that do not declare OwnProves the runner notes that nothing was looked at.
	Own Layer
}

// Without is a copy of a layer's parameters without those that the arm's own layer of the kind (Session.Own) sets: its
// keys of maps, and all of any other parameter. Where the arm has none it is the layer itself.
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

// Run is one session of a run, as its layers see it. The zero value is a new run
// that keeps nothing yet. It is used by one goroutine.
type Run struct {
	ledger Ledger
	kept   map[Layer]any
}

// NewRun is a session of a run that keeps in a ledger what it has to undo.
func NewRun(l Ledger) *Run { return &Run{ledger: l} }

// At is a session of the run at a site, at whose places programs under test are
// started; on this machine if none are given.
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

// Everywhere makes checks at each place where programs under test are started.
func (s *Session) Everywhere(look func(where testbed.Place) ([]Check, error)) ([]Check, error) {
	return Each(s.Places, look)
}

// Each makes checks at each of some places.
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

// Kept gives what a layer keeps for as long as the run lasts, over all sites and
// for Up and ProveOff alike: the same *T at each call, zero at the first. That is
// where state belongs which is not of one site; parameters do not change.
func Kept[T any](r *Run, l Layer) *T {
	if r.kept == nil {
		r.kept = map[Layer]any{}
	}
	if _, there := r.kept[l]; !there {
		r.kept[l] = new(T)
	}
	return r.kept[l].(*T)
}
