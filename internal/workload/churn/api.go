package churn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/text/safetext"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// api is the workload's own connection to an API server, without a client-side limit on requests. It repeats a request
// only after status 429.
type api struct {
	http *http.Client
	base string // URL of the API server, without a final slash
}

func connect(config *rest.Config) (*api, error) {
	own := rest.CopyConfig(config)
	own.Timeout, own.UserAgent = 0, "tare/churn"
	if own.Proxy == nil {
		own.Proxy = http.ProxyFromEnvironment // if Proxy were nil, client-go would share one connection among configurations
	}
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("connection to the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(own)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	return &api{http: client, base: strings.TrimSuffix(base.String(), "/")}, nil
}

// apiError is an error response of the API server, or a failed connection.
type apiError struct {
	code    int // HTTP status; 0: no response came
	reason  string
	message string
	wait    time.Duration // pause that the response asks for before the next attempt
}

func (a *apiError) Error() string {
	if a.code == 0 {
		return a.message
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s: %s", a.code, a.reason, a.message))
}

// These are values of the HTTP header Accept. Each asks the API server for complete objects, or for their metadata
// only.
const (
	whole    = "application/json"
	metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// contentTypes maps each HTTP method to the Content-Type header of its requests.
var contentTypes = map[string]string{
	http.MethodPost: "application/json", http.MethodDelete: "application/json", http.MethodPatch: "application/merge-patch+json",
}

type request struct {
	method, path string // path includes the query string, such as ?limit=500
	accept       string
	body         []byte
}

// send sends a request and returns the body of the response. The caller closes the body. For a status of 400 or more
// the error is an *apiError.
func (a *api) send(ctx context.Context, r request) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, a.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", r.accept)
	if contentType := contentTypes[r.method]; contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	got, err := a.http.Do(req)
	if err != nil {
		return nil, lost(err)
	}
	if got.StatusCode < 400 {
		return got.Body, nil
	}
	defer got.Body.Close()
	return nil, refusal(got)
}

// lost returns the error of a failed connection, without the URL that Go's HTTP errors contain.
func lost(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &apiError{message: safetext.Head(err.Error(), mostSaid)}
}

// mostRefusal, mostSaid and mostAnswer limit how much of a response is read or kept.
const (
	mostRefusal = 64 << 10 // bytes of an error response
	mostSaid    = 300      // characters of a message by the server or the system
	mostAnswer  = 64 << 20 // bytes of a response with a list, or with a page of a list
)

func refusal(got *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(got.Body, mostRefusal)) // a read error is ignored: the part that was read is enough
	var status metav1.Status
	refused := &apiError{code: got.StatusCode}
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		refused.reason, refused.message = safetext.Head(string(status.Reason), mostSaid), safetext.Head(status.Message, mostSaid)
	} else {
		refused.reason, refused.message = http.StatusText(got.StatusCode), safetext.Head(string(text), mostSaid)
	}
	if seconds, err := strconv.Atoi(got.Header.Get("Retry-After")); err == nil && seconds >= 0 && seconds <= 60 {
		refused.wait = time.Duration(seconds) * time.Second
	}
	return refused
}

func hasStatus(err error, code int) bool {
	refused, ok := errors.AsType[*apiError](err)
	return ok && refused.code == code
}

// tooMany reports whether an error is a response with status 429, and returns the pause before the next attempt.
func tooMany(err error) (wait time.Duration, busy bool) {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || refused.code != http.StatusTooManyRequests {
		return 0, false
	}
	return max(refused.wait, shortestWait), true
}

// do sends a request and discards the response's body.
func (a *api) do(ctx context.Context, r request) error {
	r.accept = whole
	body, err := a.send(ctx, r)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); err != nil { // reading to the end lets the connection be used again
		return lost(err)
	}
	return nil
}

// again calls ask until its error is not the status 429 (too many requests). Between two calls it pauses as long as the
// server asks for.
func again(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if wait, busy := tooMany(err); !busy || testbed.Pause(ctx, wait) != nil {
			return err
		}
	}
}

// get sends a GET request, repeats it after status 429, and decodes the JSON response.
func (a *api) get(ctx context.Context, path, accept string, into any) error {
	var body io.ReadCloser
	err := again(ctx, func() (err error) {
		body, err = a.send(ctx, request{method: http.MethodGet, path: path, accept: accept})
		return err
	})
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, mostAnswer)).Decode(into); err != nil {
		return &apiError{message: safetext.Head("response to "+path+": "+err.Error(), mostSaid)}
	}
	_, _ = io.Copy(io.Discard, body)
	return nil
}

func (a *api) close() { utilnet.CloseIdleConnectionsFor(a.http.Transport) }

// resource asks the cluster for the resource of a kind. The kind must be namespaced.
func (a *api) resource(ctx context.Context, k kind) (found schema.GroupVersionResource, err error) {
	var list metav1.APIResourceList
	err = a.get(ctx, root(k.group, k.version), whole, &list)
	if hasStatus(err, http.StatusNotFound) {
		return found, fmt.Errorf("the cluster has no %s: install its custom resource definition first, by a layer of every arm or by hand", k)
	}
	if err != nil {
		return found, fmt.Errorf("resource of %s: %w", k, err)
	}
	for _, r := range list.APIResources {
		if r.Kind != k.name || !plainWord(r.Name) {
			continue
		}
		if !r.Namespaced {
			return found, fmt.Errorf("%s is not namespaced; churn makes objects in the arm's namespace only", k)
		}
		return schema.GroupVersionResource{Group: k.group, Version: k.version, Resource: r.Name}, nil
	}
	return found, fmt.Errorf("the cluster has no %s", k)
}

func root(group, version string) string {
	if group == "" {
		return "/api/" + version
	}
	return "/apis/" + group + "/" + version
}
