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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/testbed"
)

// sendAll sends each request at its due time, counted from start, and waits for all responses. While no worker is free,
// requests are late.
func (s *runningTrial) sendAll(ctx context.Context, start time.Time, all []*timedRequest) error {
	due := make(chan *timedRequest)
	var workers sync.WaitGroup
	for range min(s.config.Concurrency, len(all)) {
		workers.Go(func() {
			for o := range due {
				o.taken = time.Since(start)
				s.carryOut(ctx, start, o)
			}
		})
	}
	err := keepTime(ctx, start, all, due)
	close(due)
	workers.Wait()
	return err
}

func keepTime(ctx context.Context, start time.Time, all []*timedRequest, due chan<- *timedRequest) error {
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

// carryOut sends one request, and repeats it after status 429 as Kubernetes' clients do. If it fails, its object is no
// longer waited for.
func (s *runningTrial) carryOut(ctx context.Context, start time.Time, o *timedRequest) {
	if o.answered != nil {
		defer close(o.answered)
	}
	limited, cancel := context.WithTimeout(ctx, s.config.Request.Std())
	defer cancel()
	if o.after != nil {
		select {
		case <-o.after.answered:
		case <-limited.Done():
		}
	}
	o.sent = time.Since(start)
	r := s.request(o)
	for {
		err := s.api.do(limited, r)
		o.done = time.Since(start)
		if wait, busy := tooMany(err); busy {
			o.throttled++
			if testbed.Pause(limited, wait) == nil {
				continue
			}
		}
		if err != nil {
			o.failure = err.Error()
			s.tracker.settle(o)
		}
		return
	}
}

// shortestWait is the pause after a response with status 429 that names no time.
const shortestWait = 100 * time.Millisecond

func (p *target) request(o *timedRequest) request {
	path := p.path(p.sources[o.source].resource)
	switch o.verb {
	case create:
		return request{method: http.MethodPost, path: path, body: o.body}
	case update:
		return request{method: http.MethodPatch, path: path + "/" + o.name, body: o.body}
	}
	return request{method: http.MethodDelete, path: path + "/" + o.name, body: background}
}

// background makes the garbage collector delete an object's dependents after the object, as kubectl does.
var background = []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`)

// foreground makes the API server keep a deleted object until its dependents are gone. Tare then waits for the object
// only. Pods have no dependents.
var foreground = []byte(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`)

// deleters is the number of deletions that are requested at the same time.
const deleters = 16

// clean deletes every object that trials of this arm have left, and waits until all are gone.
func (p *target) clean(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, r := range p.resources() {
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
func (p *target) cleanOne(ctx context.Context, r schema.GroupVersionResource) (left string, err error) {
	asked := map[types.UID]bool{} // objects whose deletion was already requested, so that it is not requested again
	for wait := shortestClean; ; wait = min(2*wait, time.Second) {
		var page metav1.PartialObjectMetadataList
		if err := p.api.get(ctx, p.query(r, url.Values{"limit": {"1000"}}), metadata, &page); err != nil {
			return left, err
		}
		if len(page.Items) == 0 {
			return "", nil
		}
		left = fmt.Sprintf("%d objects or more, such as %.80q,", len(page.Items), page.Items[0].Name)
		var workers errgroup.Group
		workers.SetLimit(deleters)
		for _, item := range page.Items {
			if !asked[item.UID] && plainWord(item.Name) {
				asked[item.UID], wait = true, shortestClean
				workers.Go(func() error { return p.deleteOne(ctx, r, item.Name) })
			}
		}
		if err := workers.Wait(); err != nil {
			return left, err
		}
		if testbed.Pause(ctx, wait) != nil {
			return left, ctx.Err()
		}
	}
}

// shortestClean is the first pause before the remaining objects are listed again. While no new object appears, pauses
// double, up to a second.
const shortestClean = 20 * time.Millisecond

// deleteOne requests the deletion of an object. An object that is already gone is no error.
func (p *target) deleteOne(ctx context.Context, r schema.GroupVersionResource, name string) error {
	how := foreground
	if r.Group == "" && r.Resource == "pods" {
		how = background
	}
	err := again(ctx, func() error {
		return p.api.do(ctx, request{method: http.MethodDelete, path: p.path(r) + "/" + name, body: how})
	})
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}
