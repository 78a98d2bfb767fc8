package churn

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	for _, o := range all {
		if err := testbed.Pause(ctx, o.at-time.Since(start)); err != nil {
			return err
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

func deleteLimit(n int) time.Duration {
	return time.Minute + time.Duration(n)*time.Second/slowestPace
}

// foreground makes the API server keep an object until all of its dependents are gone, so that waiting for
// the object is enough. This way of deleting gives the garbage collector work for each object. A pod has no
// dependents.
var foreground = []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`)

// deleters is the number of requests that delete at the same time.
const deleters = 16

// clean deletes every object that trials of this arm have left, and waits until all are gone.
func (p *target) clean(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, r := range distinct(p.resources) {
		left, err := p.cleanOne(limited, r)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("%s in namespace %s: %s still there after %v", r.Resource, p.namespace, left, limit)
		case err != nil:
			return fmt.Errorf("delete %s in namespace %s: %w", r.Resource, p.namespace, err)
		}
	}
	return nil
}

// cleanOne deletes the objects of one resource. If it fails, left describes the remaining objects.
func (p *target) cleanOne(ctx context.Context, r resource) (left string, err error) {
	asked := map[types.UID]bool{} // objects that a deletion was requested for; each is requested once
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		var page metav1.PartialObjectMetadataList
		query := url.Values{"limit": {"1000"}, "labelSelector": {p.selector}}
		if err := p.api.get(ctx, r.path(p.namespace)+"?"+query.Encode(), metadata, &page); err != nil {
			return left, err
		}
		if len(page.Items) == 0 {
			return "", nil
		}
		left = fmt.Sprintf("%d objects or more, such as %.80q,", len(page.Items), page.Items[0].Name)
		var names []string
		for _, item := range page.Items {
			if !asked[item.UID] && plainWord(item.Name) {
				asked[item.UID] = true
				names = append(names, item.Name)
			}
		}
		if err := p.deleteAll(ctx, r, names); err != nil {
			return left, err
		}
		if len(names) > 0 {
			wait = 20 * time.Millisecond
		}
		if testbed.Pause(ctx, wait) != nil {
			return left, ctx.Err()
		}
	}
}

// deleteAll requests the deletion of objects. An object that is already gone is no error.
func (p *target) deleteAll(ctx context.Context, r resource, names []string) error {
	var workers errgroup.Group
	workers.SetLimit(deleters)
	for _, name := range names {
		workers.Go(func() error { return p.deleteOne(ctx, r, name) })
	}
	return workers.Wait()
}

func (p *target) deleteOne(ctx context.Context, r resource, name string) error {
	how := foreground
	if r.Group == "" && r.kind.name == "Pod" {
		how = background
	}
	err := again(ctx, func() error {
		return p.api.do(ctx, request{method: http.MethodDelete, path: r.path(p.namespace) + "/" + name, contentType: plainJSON, body: how})
	})
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}
