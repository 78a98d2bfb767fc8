package churn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// tracker sees objects become ready, by one watch for each resource.
type tracker struct {
	*target
	start   atomic.Pointer[time.Time] // start of the current phase; readyAt counts from this time
	left    atomic.Int64              // number of requests whose objects are not ready
	all     chan struct{}             // receives a value when left reaches 0
	watches []*watch
	running sync.WaitGroup               // goroutines of the watches
	undated atomic.Pointer[timedRequest] // an update whose completion cannot be seen in the object's status
}

type watch struct {
	*tracker
	resource schema.GroupVersionResource
	version  string // resource version of the last event
	// awaited holds the requests on each object that is not ready, by object name. While the watch runs, only its
	// goroutine changes the map.
	awaited map[string][]*timedRequest
	// lost is the time for which the watch had no connection and saw nothing. The fields lost and breaks are read
	// only after the watch has ended.
	lost   time.Duration
	breaks int
}

// newTracker returns a tracker for the given requests. The tracker begins to wait for objects when phase is called.
func (p *target) newTracker(requests ...[]*timedRequest) *tracker {
	t := &tracker{target: p, all: make(chan struct{}, 1)}
	at := map[schema.GroupVersionResource]*watch{}
	for _, r := range p.resources() {
		at[r] = &watch{tracker: t, resource: r, awaited: map[string][]*timedRequest{}}
		t.watches = append(t.watches, at[r])
	}
	for _, o := range slices.Concat(requests...) {
		if o.awaited {
			w := at[p.sources[o.source].resource]
			w.awaited[o.name] = append(w.awaited[o.name], o)
		}
	}
	return t
}

// run starts the watches, which end with the context. When run returns, every watch has its first version: no new
// object is missed from then on.
func (t *tracker) run(ctx context.Context) error {
	for _, w := range t.watches {
		if err := w.list(ctx); err != nil {
			return fmt.Errorf("list of %s: %w", w.resource.Resource, err)
		}
	}
	for _, w := range t.watches {
		t.running.Go(func() { w.follow(ctx) })
	}
	return nil
}

// phase begins a phase of the trial: the tracker waits for the objects of its requests. Their times count from start.
func (t *tracker) phase(start time.Time, requests []*timedRequest) {
	n := int64(0)
	for _, o := range requests {
		if o.awaited {
			n++
		}
	}
	t.start.Store(&start)
	select {
	case <-t.all:
	default:
	}
	t.left.Store(n)
}

// settle ends the tracker's wait for a request's object. A second call for a request does nothing.
func (t *tracker) settle(o *timedRequest) {
	if o.awaited && o.settled.CompareAndSwap(false, true) && t.left.Add(-1) == 0 {
		t.all <- struct{}{}
	}
}

// wait returns when all requests of the phase are settled, or the limit has passed.
func (t *tracker) wait(ctx context.Context, limit time.Duration) error {
	if t.left.Load() <= 0 {
		return nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.all:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// event is one line of a watch's response. If the type is ERROR, the object is a status.
type event struct {
	Type   string `json:"type"`
	Object struct {
		watchedObject
		Code    json.RawMessage `json:"code"`
		Reason  json.RawMessage `json:"reason"`
		Message json.RawMessage `json:"message"`
	} `json:"object"`
}

// refusal returns the error in an event of type ERROR.
func (e *event) refusal() error {
	a := &apiError{}
	_ = json.Unmarshal(e.Object.Code, &a.code) // if the code is missing, the event counts as a broken connection
	a.reason, a.message = safetext.Head(string(e.Object.Reason), mostSaid), safetext.Head(string(e.Object.Message), mostSaid)
	return a
}

// seeObject takes the new state of an object. If the state meets the condition of a request on this object, the wait
// for this request ends.
func (w *watch) seeObject(o *watchedObject) {
	waiting := w.awaited[o.Metadata.Name]
	if len(waiting) == 0 {
		return
	}
	now := time.Since(*w.start.Load())
	revision, _ := strconv.Atoi(o.Metadata.Annotations[revisionKey]) // an object that Tare did not make has no revision
	ready, met := w.sources[waiting[0].source].ready, 0
	for met < len(waiting) && waiting[met].revision <= revision && ready.met(o) {
		if !ready.hasGeneration(o) && w.noteUndated(waiting[met:]) {
			break
		}
		if waiting[met].readyAt.CompareAndSwap(0, max(1, int64(now))) {
			w.settle(waiting[met])
		}
		met++
	}
	if met == len(waiting) {
		delete(w.awaited, o.Metadata.Name)
	} else {
		w.awaited[o.Metadata.Name] = waiting[met:]
	}
}

func (w *watch) seeGone(name string) {
	for _, o := range w.awaited[name] {
		w.settle(o)
	}
	delete(w.awaited, name)
}

// list reads the state of all objects. The watch then continues from the version of this list.
func (w *watch) list(ctx context.Context) error {
	query := url.Values{"limit": {"500"}}
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []watchedObject `json:"items"`
		}
		if err := w.watching.get(ctx, w.query(w.resource, query), whole, &page); err != nil {
			return err
		}
		for i := range page.Items {
			w.seeObject(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			w.version = page.Metadata.ResourceVersion
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

// reopenPause is the pause before a broken watch is opened again.
const reopenPause = 100 * time.Millisecond

// follow reads the watch until the context is done. A watch that ends is continued at its last version, or after a new
// list if that version is gone.
func (w *watch) follow(ctx context.Context) {
	var broken time.Time
	alive := func() {
		if !broken.IsZero() {
			w.lost += time.Since(broken)
			broken = time.Time{}
		}
	}
	defer alive()
	for ctx.Err() == nil {
		begun := time.Now()
		err := w.stream(ctx, alive)
		if ctx.Err() != nil {
			break
		}
		if err == nil { // the API server ended the watch without an error
			if time.Since(begun) < reopenPause {
				_ = testbed.Pause(ctx, reopenPause)
			}
			continue
		}
		if broken.IsZero() {
			broken = time.Now()
		}
		w.breaks++
		if hasStatus(err, http.StatusGone) {
			err = w.list(ctx)
		}
		if err != nil {
			_ = testbed.Pause(ctx, reopenPause)
		}
	}
}

// stream reads events until the connection ends. As soon as the connection is open, it calls the function alive.
func (w *watch) stream(ctx context.Context, alive func()) error {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {w.version}}
	body, err := w.watching.send(ctx, request{method: http.MethodGet, path: w.query(w.resource, query), accept: whole})
	if err != nil {
		return err
	}
	defer body.Close()
	alive()
	events := json.NewDecoder(body)
	for {
		var e event
		if err := events.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if e.Type == "ERROR" {
			return e.refusal()
		}
		if v := e.Object.Metadata.ResourceVersion; v != "" {
			w.version = v
		}
		switch e.Type {
		case "ADDED", "MODIFIED":
			w.seeObject(&e.Object.watchedObject)
		case "DELETED":
			w.seeGone(e.Object.Metadata.Name)
		}
	}
}

// unseen returns the longest time for which any watch had no connection, and the number of interruptions of all
// watches. It must be called after the watches have ended.
func (t *tracker) unseen() (longest time.Duration, breaks int) {
	for _, w := range t.watches {
		longest, breaks = max(longest, w.lost), breaks+w.breaks
	}
	return longest, breaks
}
