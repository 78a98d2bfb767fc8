package churn

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"tare/internal/testbed/kube/cluster"
)

// apiServer is a fake API server with the parts that the workload needs: objects of any kind in namespaces, lists,
// and watches that a test can break.
type apiServer struct {
	*httptest.Server
	mu      sync.Mutex
	version int
	objects map[string]map[string]object // by the path of the resource, then by name
	history []change
	news    chan struct{} // closed at the next change
	// Behaviour of the components behind the server.
	admit   func(method, path string, n int) int // status of the error for the n-th write; 0: the write succeeds
	becomes func(object)                         // change that controllers make to an object, at once
	cut     chan struct{}                        // a receive from cut breaks a watch
	forget  int                                  // watches from before this version get the status 410 (gone)
	writes  int
	network *memory
	busy    atomic.Int32 // number of lists that get the status 429 first
	deletes []string     // requested propagation policies
}

type object = map[string]any

type change struct {
	version int
	kind    string // ADDED, MODIFIED, DELETED
	path    string
	object  object
}

// serve starts an API server with pods, services, namespaces and deployments.
func serve(t testing.TB) *apiServer {
	s := &apiServer{network: newMemory(), objects: map[string]map[string]object{}, news: make(chan struct{}), cut: make(chan struct{})}
	s.becomes = ready
	s.Server = &httptest.Server{Listener: s.network, Config: &http.Server{Handler: s}}
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// memory is a network within this process. A fake clock can advance while a goroutine waits for it.
type memory struct {
	calls  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func newMemory() *memory {
	ctx, cancel := context.WithCancel(context.Background())
	return &memory{make(chan net.Conn), ctx, cancel}
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.calls <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.closed.Done():
		return nil, net.ErrClosed
	}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.calls:
		return conn, nil
	case <-m.closed.Done():
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.close(); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// ready makes pods ready and deployments available at once.
func ready(o object) {
	switch o["kind"] {
	case "Pod":
		o["status"] = object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}}
	case "Deployment":
		n := o["spec"].(object)["replicas"]
		o["status"] = object{"observedGeneration": o["metadata"].(object)["generation"], "replicas": n, "updatedReplicas": n, "availableReplicas": n}
	}
}

func (s *apiServer) cluster() *cluster.Cluster {
	return &cluster.Cluster{Config: &rest.Config{Host: s.URL, Dial: s.network.dial}}
}

var discovery = map[string]string{
	"/api/v1": `{"resources":[{"name":"pods","kind":"Pod","namespaced":true},{"name":"pods/status","kind":"Pod","namespaced":true},
		{"name":"services","kind":"Service","namespaced":true},{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"namespaces","kind":"Namespace"}]}`,
	"/apis/apps/v1":        `{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true}]}`,
	"/apis/crd.example/v1": `{"resources":[{"name":"wides","kind":"Wide","namespaced":false}]}`,
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text, ok := discovery[r.URL.Path]; ok {
		_, _ = io.WriteString(w, text)
		return
	}
	at := strings.Split(r.URL.Path, "/")
	named := slices.Index(at, "namespaces") == len(at)-4
	path, name := r.URL.Path, ""
	if named {
		name = at[len(at)-1]
		path = strings.Join(at[:len(at)-1], "/")
	}
	switch {
	case slices.Index(at, "namespaces") < 0:
		refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		s.watch(w, r, path)
	case r.Method == http.MethodGet && s.busy.Add(-1) >= 0:
		w.Header().Set("Retry-After", "0")
		refuse(w, http.StatusTooManyRequests, "storage is (re)initializing")
	case r.Method == http.MethodGet:
		s.list(w, r, path)
	default:
		s.write(w, r, path, name)
	}
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"kind": "Status", "code": code, "reason": strings.ReplaceAll(http.StatusText(code), " ", ""), "message": message})
}

// write creates, updates or deletes an object.
func (s *apiServer) write(w http.ResponseWriter, r *http.Request, path, name string) {
	var sent object
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.admit != nil {
		if code := s.admit(r.Method, path, s.writes); code != 0 {
			refuse(w, code, "refused by the test")
			return
		}
	}
	if s.objects[path] == nil {
		s.objects[path] = map[string]object{}
	}
	switch r.Method {
	case http.MethodPost:
		name = sent["metadata"].(object)["name"].(string)
		if s.objects[path][name] != nil {
			refuse(w, http.StatusConflict, name+" already exists")
			return
		}
		sent["metadata"].(object)["uid"], sent["metadata"].(object)["generation"] = fmt.Sprint("uid-", s.version), 1
		s.change("ADDED", path, name, sent)
		later := copied(sent)
		s.becomes(later)
		s.change("MODIFIED", path, name, later)
	case http.MethodPatch:
		if s.objects[path][name] == nil {
			refuse(w, http.StatusNotFound, name+" not found")
			return
		}
		merged := copied(s.objects[path][name])
		merge(merged, sent)
		merged["metadata"].(object)["generation"] = merged["metadata"].(object)["generation"].(float64) + 1
		s.becomes(merged)
		s.change("MODIFIED", path, name, merged)
	case http.MethodDelete:
		if s.objects[path][name] == nil {
			refuse(w, http.StatusNotFound, name+" not found")
			return
		}
		s.deletes = append(s.deletes, sent["propagationPolicy"].(string))
		s.change("DELETED", path, name, s.objects[path][name])
	}
	_ = json.NewEncoder(w).Encode(sent)
}

func copied(o object) object {
	text, _ := json.Marshal(o)
	var c object
	_ = json.Unmarshal(text, &c)
	return c
}

func merge(into, patch object) {
	for key, v := range patch {
		inner, ok := v.(object)
		if have, is := into[key].(object); ok && is {
			merge(have, inner)
		} else {
			into[key] = v
		}
	}
}

// change sends a state of an object to the watches.
func (s *apiServer) change(kind, path, name string, o object) {
	s.version++
	o = copied(o)
	o["metadata"].(object)["resourceVersion"] = strconv.Itoa(s.version)
	if kind == "DELETED" {
		delete(s.objects[path], name)
	} else {
		s.objects[path][name] = o
	}
	s.history = append(s.history, change{s.version, kind, path, o})
	close(s.news)
	s.news = make(chan struct{})
}

// selected reports whether an object has all labels of a selector.
func selected(o object, selector string) bool {
	labels, _ := o["metadata"].(object)["labels"].(object)
	for part := range strings.SplitSeq(selector, ",") {
		key, value, _ := strings.Cut(part, "=")
		if selector != "" && labels[key] != value {
			return false
		}
	}
	return true
}

// list returns pages of two objects.
func (s *apiServer) list(w http.ResponseWriter, r *http.Request, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	var items []object
	for _, name := range slices.Sorted(maps.Keys(s.objects[path])) {
		if o := s.objects[path][name]; selected(o, r.URL.Query().Get("labelSelector")) {
			items = append(items, o)
		}
	}
	page := object{"resourceVersion": strconv.Itoa(s.version)}
	to := min(from+2, len(items))
	if to < len(items) {
		page["continue"] = strconv.Itoa(to)
	}
	_ = json.NewEncoder(w).Encode(object{"metadata": page, "items": append([]object{}, items[min(from, len(items)):to]...)})
}

// watch sends every change after the requested version.
func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, path string) {
	version, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	forget := s.forget
	s.mu.Unlock()
	if version < forget {
		_ = json.NewEncoder(w).Encode(object{"type": "ERROR", "object": object{"kind": "Status", "metadata": object{}, "status": "Failure", "code": 410, "reason": "Expired", "message": "too old resource version"}})
		return
	}
	w.(http.Flusher).Flush()
	for {
		s.mu.Lock()
		news := s.news
		for _, c := range s.history {
			if c.version > version && c.path == path && selected(c.object, r.URL.Query().Get("labelSelector")) {
				_ = json.NewEncoder(w).Encode(object{"type": c.kind, "object": c.object})
			}
			version = max(version, c.version)
		}
		s.mu.Unlock()
		w.(http.Flusher).Flush()
		select {
		case <-news:
		case <-s.cut:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
	}
}

// count returns the number of objects of a resource.
func (s *apiServer) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects[path])
}
