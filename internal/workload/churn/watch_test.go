package churn

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"tare/internal/workload"
)

// TestBrokenWatchMissesNothing breaks the watch after every object.
func TestBrokenWatchMissesNothing(t *testing.T) {
	for _, forget := range []bool{false, true} {
		s := serve(t)
		c := config(6, podTemplate)
		s.becomes = func(o object) {
			ready(o)
			if forget { // the new watch starts too late, and must list the objects first
				s.forget = s.version + 1
			}
			go func() { s.cut <- struct{}{} }()
		}
		result, _, err := trial(t, s, c)
		if err != nil || result.Failed != 0 {
			t.Errorf("forgetting %v: result %+v, %v", forget, result, err)
		}
	}
}

func TestBlindWatchBreaksARule(t *testing.T) {
	out := summarize([]*timedRequest{{}}, 1, time.Now())
	out.unseen = 300 * time.Millisecond
	err := New().(*Config).judge(&workload.Trial{}, out)
	invalid(t, err, workload.RuleLate, "a watch was broken for 300ms, in which objects may have become ready unseen")
}

func TestRevisionsAreAwaitedInTurn(t *testing.T) {
	first := &timedRequest{verb: create, name: "a", revision: 1, awaited: true}
	second := &timedRequest{verb: update, name: "a", revision: 2, awaited: true}
	p := &target{sources: []*source{{ready: Condition{how: condition, name: "Ready"}}}}
	tracker := p.newTracker([]*timedRequest{first}, []*timedRequest{second})
	tracker.phase(time.Now(), []*timedRequest{first, second})
	see := func(revision, ready string) {
		var o watchedObject
		o.Metadata.Name, o.Metadata.Annotations = "a", map[string]string{revisionKey: revision}
		o.Metadata.Generation = 1
		o.Status = []byte(`{"observedGeneration":1,"conditions":[{"type":"Ready","status":"` + ready + `"}]}`)
		tracker.watches[0].seeObject(&o)
	}
	state := func() [2]bool { return [2]bool{first.readyAt.Load() > 0, second.readyAt.Load() > 0} }
	for _, step := range []struct {
		revision, ready string
		want            [2]bool
	}{
		{"", "True", [2]bool{}}, {"1", "False", [2]bool{}}, {"1", "True", [2]bool{true, false}}, {"2", "False", [2]bool{true, false}}, {"2", "True", [2]bool{true, true}},
	} {
		see(step.revision, step.ready)
		if got := state(); got != step.want {
			t.Errorf("after revision %q with Ready %s: %v, want %v", step.revision, step.ready, got, step.want)
		}
	}
	if err, left := tracker.wait(t.Context(), time.Minute), tracker.left.Load(); left != 0 || err != nil {
		t.Errorf("%d left, %v", left, err)
	}
}

// FuzzWatch sends arbitrary bytes as events.
func FuzzWatch(f *testing.F) {
	f.Add(`{"type":"ADDED","object":{"metadata":{"name":"a","annotations":{"tare/revision":"1"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}}`)
	f.Add(`{"type":"ERROR","object":{"code":410,"message":"gone","reason":"Expired"}}`)
	f.Add(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}` + "\n" + `{"type":"DELETED","object":{"metadata":{"name":"a"}}}`)
	f.Add(`{"type":1}`)
	f.Add(strings.Repeat("[", 100))
	f.Fuzz(func(t *testing.T, text string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		defer server.Close()
		a, err := connect(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer a.close()
		o := &timedRequest{verb: create, name: "a", revision: 1, awaited: true}
		p := &target{watching: a, namespace: "arm", sources: []*source{{ready: Condition{how: condition, name: "Ready"}}}}
		tracker := p.newTracker([]*timedRequest{o})
		tracker.phase(time.Now(), []*timedRequest{o})
		_ = tracker.watches[0].stream(t.Context(), func() {})
		_ = tracker.watches[0].list(t.Context())
	})
}

// TestWatchesEnd checks that no goroutine of a watch outlives its trial.
func TestWatchesEnd(t *testing.T) {
	s := serve(t)
	tracker := inPlace(t, s, config(1, podTemplate)).newTracker()
	ctx, stop := newContext(t)
	if err := tracker.run(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	tracker.running.Wait() // Wait would block for ever if a watch did not end
}
