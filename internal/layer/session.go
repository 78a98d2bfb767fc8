package layer

import (
	"reflect"
	"slices"

	"tare/internal/testbed"
)

// Session is what a layer works with: one site, and the state of the run.
type Session struct {
	*Run
	// Site is the site to work at. Up gets the site as the testbed has made it. ProveOff gets the site with
	// the wrappers of its arm's layers, as the workload does.
	Site testbed.Site
	// Places are the places where subjects are started. If places have the same programs, one stands for all:
	// testbed.Host stands for all places on this machine.
	Places []testbed.Place
	// Own is the arm's own layer of the same kind, with other parameters; nil if the arm has no such layer.
	// What Own sets is no evidence that the other arm's layer is on. The field is set only in ProveOff and
	// ProveOffAfter, and only for layers that declare ProvesBeside. If a layer declares neither ProvesBeside
	// nor OwnProves, the runner notes that its absence was not checked.
	Own Layer
}

// Without returns a copy of a layer's parameters, without those that the arm's own layer of the same kind
// (Session.Own) sets. From a map it leaves out the single keys that both maps have. Any other parameter it
// leaves out as a whole. If the arm has no such layer, it returns the layer itself.
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

// Run is the state that the layers of a run share while one process works on the run. The zero value is a new
// run without a ledger. Only one goroutine may use a Run.
type Run struct {
	ledger Ledger
	kept   map[Layer]any
}

// NewRun returns the state of a run whose layers note in a ledger what they have to undo.
func NewRun(l Ledger) *Run { return &Run{ledger: l} }

// At returns a Session of the run, for a site and the places where the site's subjects are started. If no
// place is given, the place is testbed.Host.
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

// Everywhere makes checks at each place where subjects are started. It names the place in each check.
func (s *Session) Everywhere(look func(where testbed.Place) ([]Check, error)) ([]Check, error) {
	return Each(s.Places, look)
}

// Each makes checks at each of the given places. It names the place in each check, except for testbed.Host.
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

// Kept returns the state that a layer keeps for the whole run, for its Up and ProveOff at all sites. It is
// the same *T at each call, and zero at the first. State of a single site belongs into Active instead. The
// layer's parameters must not change.
func Kept[T any](r *Run, l Layer) *T {
	if r.kept == nil {
		r.kept = map[Layer]any{}
	}
	if _, there := r.kept[l]; !there {
		r.kept[l] = new(T)
	}
	return r.kept[l].(*T)
}
