package churn

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tare/internal/testbed"
)

type generator struct {
	api       *api
	resources []resource // indexed by template
	namespace string
	workers   int
	limit     time.Duration // longest time for one request with its repetitions
	// abandon is called for each failed request, whose object will never be ready.
	abandon func(*timedRequest)
}

// run sends all requests and returns when all have a response. Their times count from start. One goroutine
// waits for each request's due time and hands the request to a free worker. When no worker is free, this
// request and the requests behind it are late, which the send lag shows.
func (g *generator) run(ctx context.Context, start time.Time, all []*timedRequest) error {
	due := make(chan *timedRequest)
	var workers sync.WaitGroup
	for range min(g.workers, len(all)) {
		workers.Go(func() {
			for o := range due {
				o.taken = time.Since(start)
				g.carryOut(ctx, start, o)
			}
		})
	}
	err := g.keepTime(ctx, start, all, due)
	close(due)
	workers.Wait()
	return err
}

func (g *generator) keepTime(ctx context.Context, start time.Time, all []*timedRequest, due chan<- *timedRequest) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, o := range all {
		if wait := o.at - time.Since(start); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case due <- o:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// carryOut sends one request. After a response with status 429 it waits for the time that the response names and sends
// the request again, as every client of Kubernetes does.
func (g *generator) carryOut(ctx context.Context, start time.Time, o *timedRequest) {
	if o.answered != nil {
		defer close(o.answered)
	}
	limited, cancel := context.WithTimeout(ctx, g.limit)
	defer cancel()
	if o.after != nil {
		select {
		case <-o.after.answered:
		case <-limited.Done():
		}
	}
	o.sent = time.Since(start)
	r := g.request(o)
	for {
		err := g.api.do(limited, r)
		o.done = time.Since(start)
		if wait, busy := tooMany(err); busy {
			o.throttled++
			if testbed.Pause(limited, wait) == nil {
				continue
			}
		}
		if err != nil {
			o.failure = err.Error()
			g.abandon(o)
		}
		return
	}
}

// shortestWait is the pause after a response with status 429 that names no time.
const shortestWait = 100 * time.Millisecond

func (g *generator) request(o *timedRequest) request {
	path := g.resources[o.source].path(g.namespace)
	switch o.verb {
	case create:
		return request{method: http.MethodPost, path: path, contentType: plainJSON, body: o.body}
	case update:
		return request{method: http.MethodPatch, path: path + "/" + o.name, contentType: mergePatch, body: o.body}
	}
	return request{method: http.MethodDelete, path: path + "/" + o.name, contentType: plainJSON, body: background}
}

// background makes the garbage collector delete an object's dependents after the object, as kubectl does.
var background = []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`)
