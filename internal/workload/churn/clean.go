package churn

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/testbed"
)

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
