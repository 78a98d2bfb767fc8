package churn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// tracker sees objects become ready, by one watch for each resource.
type tracker struct {
	api       *api
	namespace string
	selector  string
	start     atomic.Pointer[time.Time] // start of the phase; readyAt counts from it
	left      atomic.Int64              // number of requests whose objects are not ready
	all       chan struct{}             // receives a value when left reaches 0
	watches   []*watch
	undated   atomic.Pointer[awaiting] // an update whose end the object's status does not show
}

type watch struct {
	*tracker
	resource resource
	version  string // resource version of the last event
	// awaited holds the requests on objects that are not ready, by the object's name and in the order of revisions.
	// Once the watch runs, only its goroutine changes the map.
	awaited map[string][]*awaiting
	// lost is the time without a connection, in which the watch saw nothing. lost and breaks are read only after the
	// watch has ended.
	lost   time.Duration
	breaks int
}

// awaiting is a request with the condition under which its object is ready.
type awaiting struct {
	*timedRequest
	ready Condition
}

func newTracker(a *api, namespace, selector string, sources []*source, resources []resource, requests ...[]*timedRequest) *tracker {
	t := &tracker{api: a, namespace: namespace, selector: selector, all: make(chan struct{}, 1)}
	at := map[resource]*watch{}
	for _, r := range distinct(resources) {
		at[r] = &watch{tracker: t, resource: r, awaited: map[string][]*awaiting{}}
		t.watches = append(t.watches, at[r])
	}
	for _, list := range requests {
		for _, o := range list {
			if o.awaited {
				w := at[resources[o.source]]
				w.awaited[o.name] = append(w.awaited[o.name], &awaiting{o, sources[o.source].ready})
			}
		}
	}
	return t
}

// query returns the query string of lists and watches, which select the trial's objects.
func (t *tracker) query(parameters url.Values) string {
	parameters.Set("labelSelector", t.selector)
	return "?" + parameters.Encode()
}

// run starts the watches, which run until the context is done. It returns when every watch has its start version, so
// that no object made afterwards is missed.
func (t *tracker) run(ctx context.Context, running *sync.WaitGroup) error {
	for _, w := range t.watches {
		if err := w.list(ctx); err != nil {
			return fmt.Errorf("list of %s: %w", w.resource.Resource, err)
		}
	}
	for _, w := range t.watches {
		running.Go(func() { w.follow(ctx) })
	}
	return nil
}

// phase begins to wait for these requests. Their times count from start.
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

// settle records that the tracker no longer waits for a request. Further calls for the same request have no effect.
func (t *tracker) settle(o *timedRequest) {
	if o.awaited && o.settled.CompareAndSwap(false, true) && t.left.Add(-1) == 0 {
		t.all <- struct{}{}
	}
}

// wait waits until the tracker waits for no request of the phase, or the limit has passed. It returns the number of
// requests left.
func (t *tracker) wait(ctx context.Context, limit time.Duration) (left int64, err error) {
	if t.left.Load() <= 0 {
		return 0, nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.all:
	case <-timer.C:
	case <-ctx.Done():
		return t.left.Load(), ctx.Err()
	}
	return t.left.Load(), nil
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
	_ = json.Unmarshal(e.Object.Code, &a.code) // an event without a code counts as a broken connection
	a.reason, a.message = safetext.Head(string(e.Object.Reason), mostSaid), safetext.Head(string(e.Object.Message), mostSaid)
	return a
}

// seeObject settles the requests on an object that now meets their conditions.
func (w *watch) seeObject(o *watchedObject) {
	waiting := w.awaited[o.Metadata.Name]
	if len(waiting) == 0 {
		return
	}
	now := time.Since(*w.start.Load())
	revision, _ := strconv.Atoi(o.Metadata.Annotations[revisionKey]) // an object that Tare did not make has no revision
	met := 0
	for met < len(waiting) && waiting[met].revision <= revision && waiting[met].ready.met(o) {
		if !waiting[met].ready.hasGeneration(o) && w.noteUndated(waiting[met:]) {
			break
		}
		if waiting[met].readyAt.CompareAndSwap(0, max(1, int64(now))) {
			w.settle(waiting[met].timedRequest)
		}
		met++
	}
	if met == len(waiting) {
		delete(w.awaited, o.Metadata.Name)
	} else {
		w.awaited[o.Metadata.Name] = waiting[met:]
	}
}

// seeGone settles the requests on a deleted object.
func (w *watch) seeGone(name string) {
	for _, a := range w.awaited[name] {
		w.settle(a.timedRequest)
	}
	delete(w.awaited, name)
}

// list reads the state of all objects, and sets the version from which the watch continues.
func (w *watch) list(ctx context.Context) error {
	query := url.Values{"limit": {"500"}}
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []watchedObject `json:"items"`
		}
		if err := w.api.get(ctx, w.resource.path(w.namespace)+w.query(query), whole, &page); err != nil {
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

// follow watches until the context is done. The API server ends each watch after some minutes; follow then opens it
// again at the last version. If the API server no longer has this version, follow lists the objects first.
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
		if err == nil { // the API server ended the watch regularly
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

// stream reads events until the connection ends. It calls alive when the connection is open.
func (w *watch) stream(ctx context.Context, alive func()) error {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {w.version}}
	body, err := w.api.send(ctx, request{method: http.MethodGet, path: w.resource.path(w.namespace) + w.query(query), accept: whole})
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

// unseen returns the longest time for which one of the watches saw nothing, and the number of breaks of all watches.
// It may be called only after the watches have ended.
func (t *tracker) unseen() (longest time.Duration, breaks int) {
	for _, w := range t.watches {
		longest, breaks = max(longest, w.lost), breaks+w.breaks
	}
	return longest, breaks
}
