package churn

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// tryUpdate checks that it can be told when an updated object is ready: by its
// status only if an update changes more than metadata, for which the API server
// gives the object a new generation, which the status then has to reach.
func (s *source) tryUpdate() error {
	if s.ready.how != condition && s.ready.how != field {
		return nil
	}
	var states [2]map[string]any
	for i := range states {
		object, err := s.render(values{Name: "churn-0-1", Namespace: "tare", Objects: 1, Revision: i + 1})
		if err != nil {
			return err
		}
		delete(object, "metadata")
		delete(object, "status")
		states[i] = object
	}
	if reflect.DeepEqual(states[0], states[1]) {
		return fmt.Errorf("operation update changes no more than metadata, so that %v is met by what was there before: put {{.Revision}} into what the update changes, or give ready: exists", s.ready)
	}
	return nil
}

// dated says whether it can be told of which state of an object it is that the
// condition is met: whether the status, or the condition in it, has the generation
// that it is about. Without one, what was ready before an update looks as if it
// were ready after it.
func (c Condition) dated(o *seen) bool {
	if c.how == exists {
		return true
	}
	if o.Metadata.Generation < 1 {
		return false
	}
	if _, known := o.observed(); known {
		return true
	}
	var s status
	if c.how != condition || json.Unmarshal(o.Status, &s) != nil {
		return false
	}
	return s.condition(c.name).Observed != nil
}

// undatable notes that a status does not tell of which state of the object it is,
// if one of the orders, all on the same object, is an update; and says whether the
// first of them is, which cannot be told to be ready then.
func (w *watch) undatable(orders []*awaiting) bool {
	for _, a := range orders {
		if a.verb == update {
			w.undated.CompareAndSwap(nil, a)
			break
		}
	}
	return orders[0].verb == update
}

// tellsUpdates refuses kinds whose status does not tell whether it is about an
// object as it was before an update or after.
func (t *tracker) tellsUpdates(sources []*source) error {
	a := t.undated.Load()
	if a == nil {
		return nil
	}
	return fmt.Errorf("templates[%d]: the status of %s has no observedGeneration, so that after an update %v may still be that of before: give ready: exists, or operation: recreate",
		a.source, sources[a.source].kind, a.ready)
}
