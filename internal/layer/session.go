package layer

import (
	"reflect"
	"slices"

	"tare/internal/testbed"
)

// Session is one site, with the state of the run, for a layer to work with.
type Session struct {
	*Run
	// Site is the site to work at. Up gets it as the testbed made it. ProveOff gets it with the wrappers of that
	// arm's layers, as the workload does.
	Site testbed.Site
	// Places are the places where subjects are started. Places with the same programs count once: testbed.Host stands
	// for all places on this machine.
	Places []testbed.Place
	// Own is the arm's own layer of the same kind, with other parameters; nil if the arm has none. What it sets must
	// not count as evidence against the arm. Own is set only in ProveOff and ProveOffAfter, and only for layers that
	// declare ProvesBeside. For layers that do not declare OwnProves, the runner notes that the absence was not
	// checked.
	Own Layer
}

// Without returns a copy of a layer's parameters without those that the arm's own layer of the same kind
// (Session.Own) sets: single keys of maps, and any other parameter as a whole. It returns the layer itself if the arm
// has no such layer.
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

// Run is the state that the layers of one session of a run share. The zero value is a new run without a ledger. Only
// one goroutine may use it.
type Run struct {
	ledger Ledger
	kept   map[Layer]any
}

// NewRun returns a session of a run whose layers note in a ledger what they have to undo.
func NewRun(l Ledger) *Run { return &Run{ledger: l} }

// At returns the run's session for a site and the places where its subjects are started. The default is testbed.Host.
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

// Everywhere makes checks at each place where subjects are started.
func (s *Session) Everywhere(look func(where testbed.Place) ([]Check, error)) ([]Check, error) {
	return Each(s.Places, look)
}

// Each makes checks at each of the given places.
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

// Kept returns the state that a layer keeps for the whole run, for Up and ProveOff at all sites: the same *T at each
// call, zero at the first. State of a single site belongs into Active instead. The layer's parameters must not
// change.
func Kept[T any](r *Run, l Layer) *T {
	if r.kept == nil {
		r.kept = map[Layer]any{}
	}
	if _, there := r.kept[l]; !there {
		r.kept[l] = new(T)
	}
	return r.kept[l].(*T)
}
