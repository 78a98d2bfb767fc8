package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// remover deletes the objects of one session of a run.
type remover struct {
	*cluster.Cluster
	owner Owner
	limit time.Duration // how long objects may take to be gone
}

// awaitGone waits until objects are gone. If they are not gone in time, its error names the objects that
// remain, and the reasons.
func (r *remover) awaitGone(ctx context.Context, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	left, said := items, time.Now()
	var why []string
	for pause := cluster.FirstPoll; ; pause = min(pause*3/2, cluster.LastPoll) {
		there, now := r.stillThere(limited, left)
		if len(there) == 0 {
			return nil
		}
		if limited.Err() == nil || why == nil {
			left, why = there, now
		}
		if limited.Err() != nil {
			return fmt.Errorf("not gone after %v: %s; tare clean --context %s tries again",
				quantity.Duration(r.limit), strings.Join(why, "; "), r.Context)
		}
		if time.Since(said) >= cluster.SayAfter {
			said = time.Now()
			r.Say(fmt.Sprintf("waiting until it is gone: %s", why[0]))
		}
		select {
		case <-time.After(pause):
		case <-limited.Done():
		}
	}
}

// stillThere returns the objects that still exist. For each of them it returns a text with the reason why its
// deletion takes long.
func (r *remover) stillThere(ctx context.Context, items []Item) (left []Item, why []string) {
	for _, i := range items {
		got, err := r.Dynamic.Resource(i.gvr()).Namespace(i.Namespace).Get(ctx, i.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && !r.owner.Owns(got):
			continue
		case err != nil:
			why = append(why, fmt.Sprintf("%s: %v", i, cluster.Explain(err)))
		default:
			why = append(why, i.String()+deletionBlock(got))
		}
		left = append(left, i)
	}
	return left, why
}

// deletionBlock returns the finalizers and conditions that block the deletion of an object, in brackets; ""
// if there are none.
func deletionBlock(o *unstructured.Unstructured) string {
	var reasons []string
	if f := o.GetFinalizers(); len(f) > 0 {
		reasons = append(reasons, "finalizers "+safetext.Head(strings.Join(f, ", "), 200))
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		m, ok := c.(map[string]any)
		if kind, _ := m["type"].(string); ok && m["status"] == "True" && slices.Contains(stuckNamespace, kind) {
			text, _ := m["message"].(string)
			reasons = append(reasons, safetext.Head(text, cluster.LineLimit))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

// stuckNamespace lists those conditions of a namespace that explain why its deletion takes long.
var stuckNamespace = []string{
	"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure",
	"NamespaceDeletionContentFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining",
}
