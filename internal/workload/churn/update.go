package churn

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// checkUpdate returns an error if the condition cannot show that an updated object is ready. A condition on
// the status shows this only if an update changes more than metadata. The API server then gives the object a
// new generation, which the status must reach.
func (s *source) checkUpdate() error {
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
		return fmt.Errorf("operation update changes only metadata, so that the state before the update already meets %v: put {{.Revision}} into a field outside metadata, or give ready: exists", s.ready)
	}
	return nil
}

// hasGeneration reports whether the object shows which generation the condition is met for: the status, or
// the condition in the status, has an observedGeneration. Without a generation, an object that was ready
// before an update also looks ready after the update.
func (c Condition) hasGeneration(o *watchedObject) bool {
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

// noteUndated gets the requests on an object whose status has no observedGeneration. It records the first
// update among them. It reports whether the first request is an update. The end of such an update cannot be
// seen.
func (w *watch) noteUndated(requests []*awaiting) bool {
	for _, a := range requests {
		if a.verb == update {
			w.undated.CompareAndSwap(nil, a)
			break
		}
	}
	return requests[0].verb == update
}

// checkUndated returns an error if the status of a kind does not show whether it describes an object before an update
// or after.
func (t *tracker) checkUndated(sources []*source) error {
	a := t.undated.Load()
	if a == nil {
		return nil
	}
	return fmt.Errorf("templates[%d]: the status of %s has no observedGeneration, so that after an update %v may still describe the state before it: give ready: exists, or operation: recreate",
		a.source, sources[a.source].kind, a.ready)
}
