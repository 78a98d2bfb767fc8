package inventory

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tare/internal/testbed/kube/cluster"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// strict is an API server with two Deployments in the given namespace, for a user with some verbs on them.
type strict struct {
	mu      sync.Mutex
	allowed []string
	asked   []string
	left    []string
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const collection = "/apis/apps/v1/namespaces/given/deployments"
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, collection), "/")
	verb := map[string]string{"GET ": "list", "GET name": "get", "DELETE ": "deletecollection", "DELETE name": "delete"}[r.Method+" "+strings.Repeat("name", min(1, len(name)))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.asked, verb) {
		s.asked = append(s.asked, verb)
	}
	object := func(name string) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "given", "labels": map[string]any{OwnerLabel: "me"}}}
	}
	code, answer := http.StatusOK, any(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	refuse := func(c int, reason string) {
		code, answer = c, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": c, "reason": reason, "message": reason + " by the test"}
	}
	selected := r.URL.Query().Get("labelSelector") == OwnerLabel+"=me"
	switch {
	case !slices.Contains(s.allowed, verb):
		refuse(http.StatusForbidden, "Forbidden")
	case verb == "list" && selected:
		items := []any{}
		for _, name := range s.left {
			items = append(items, object(name))
		}
		answer = map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": map[string]any{}, "items": items}
	case verb == "deletecollection" && selected:
		s.left = nil
	case verb == "get" && slices.Contains(s.left, name):
		answer = object(name)
	case verb == "get":
		refuse(http.StatusNotFound, "NotFound")
	default:
		refuse(http.StatusBadRequest, "BadRequest")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// RemovalVerbs are exactly the rights for removing the objects of a kind that a workload has made.
func TestRemovalVerbs(t *testing.T) {
	remove := func(limit time.Duration, allowed ...string) (*strict, error) {
		s := &strict{allowed: allowed, left: []string{"churn-0-1", "churn-1-1"}}
		server := httptest.NewServer(s)
		defer server.Close()
		client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		r := &remover{Cluster: &cluster.Cluster{Context: "test", Dynamic: client}, owner: "me", limit: limit}
		return s, r.remove(t.Context(), []Item{{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "given"}})
	}
	s, err := remove(time.Hour, RemovalVerbs...)
	slices.Sort(s.asked)
	if err != nil || s.left != nil || !slices.Equal(s.asked, RemovalVerbs) {
		t.Errorf("%v; %q are left; asked for %q, want %q", err, s.left, s.asked, RemovalVerbs)
	}
	for i, verb := range RemovalVerbs {
		if _, err := remove(100*time.Millisecond, slices.Delete(slices.Clone(RemovalVerbs), i, i+1)...); err == nil || !strings.Contains(err.Error(), "Forbidden by the test") {
			t.Errorf("without the right to %s: %v", verb, fmt.Sprint(err))
		}
	}
}
