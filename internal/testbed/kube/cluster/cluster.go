// Package cluster is the connection to one Kubernetes cluster.
//
// Connect finds the cluster through the kubeconfig. Its errors explain in plain words why a cluster cannot be used.
// Every request has a time limit, and is repeated while the API server is unavailable (Retrying). Cluster.Await waits
// for states that take longer, and also has a limit. Errors about an object include the cluster's events and logs
// about the object (DiagnosedError, Explain). This package knows nothing of sites, arms or runs.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Options configure a connection.
type Options struct {
	Kubeconfig string       // path of the kubeconfig; "" means kubectl's defaults
	Version    string       // version of Tare
	Say        func(string) // takes a line of progress; nil drops it
}

// Cluster is the connection to one cluster. Client and Dynamic limit every request by the timeout request, and repeat
// requests after temporary errors. Requests with Config have no limit and are not repeated.
type Cluster struct {
	Context string // name of the context in the kubeconfig
	UID     string // UID of the namespace kube-system, which identifies the cluster
	Config  *rest.Config
	Client  Client
	Dynamic dynamic.Interface

	// Progress takes the lines of Say; nil drops them.
	Progress func(string)

	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// Say reports a line of progress, such as "making namespace tare-1".
func (c *Cluster) Say(line string) {
	if c.Progress != nil {
		c.Progress(line)
	}
}

// Mapping returns the resource of a kind, from a cache. If the cache lacks the kind, Mapping reads the kinds again,
// since the kind may just have been installed. If the cluster lacks it, too, meta.IsNoMatchError is true for the
// error.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.mapper.Reset()
	return c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Now returns the time by the API server's clock. If that time is unknown, it returns the time by this machine's
// clock.
func (c *Cluster) Now(ctx context.Context) time.Time {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err1 := rest.HTTPClientFor(c.Config)
	server, _, err2 := rest.DefaultServerUrlFor(c.Config)
	if err1 != nil || err2 != nil {
		return time.Now()
	}
	request := (&http.Request{Method: http.MethodGet, URL: server.JoinPath("version")}).WithContext(limited)
	response, err := client.Do(request)
	if err != nil {
		return time.Now()
	}
	response.Body.Close()
	if now, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		return now
	}
	return time.Now()
}

// Each calls do for all elements of a list in parallel, and joins the errors.
func Each[T any](list []T, do func(i int, element T) error) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, element := range list {
		wg.Go(func() { errs[i] = do(i, element) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// NameLimit is the maximum length of a DNS label. Names of most objects must be DNS labels.
const NameLimit = 63

// Label turns a text into a DNS label of at most limit characters. A DNS label is also a valid value of a Kubernetes
// label.
func Label(text string, limit int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
		if b.Len() == limit {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// FirstPoll and LastPoll are the first and the longest pause between two polls of an awaited state. Polling
// needs fewer rights than watching, and survives a restart of the API server.
const (
	FirstPoll = 50 * time.Millisecond
	LastPoll  = time.Second
	// SayAfter is the interval between lines of progress during a wait.
	SayAfter = 3 * time.Second
)

// TimeoutError means that a state was not reached within a time limit.
type TimeoutError struct {
	What  string // awaited state
	Limit time.Duration
	Now   string // latest state before the limit
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("%s: not after %v", e.What, quantity.Duration(e.Limit))
	if e.Now != "" {
		text += ": " + e.Now
	}
	return text
}

// Await calls poll again and again, with growing pauses, until ok is true, poll fails, or the limit is reached.
// awaited names the awaited state ("condition Ready of VarmorPolicy demo"). now is the present state ("status
// Pending"). Lines of progress and errors contain these names.
func (c *Cluster) Await(
	ctx context.Context, awaited string, limit time.Duration, poll func(context.Context) (ok bool, now string, err error),
) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start, said := time.Now(), time.Now()
	last := ""
	for pause := FirstPoll; ; pause = min(pause*3/2, LastPoll) {
		ok, now, err := poll(limited)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: %w", awaited, ctx.Err())
		case limited.Err() != nil && !ok:
			return &TimeoutError{What: awaited, Limit: limit, Now: last}
		case err != nil:
			return fmt.Errorf("%s: %w", awaited, err)
		case ok:
			return nil
		}
		last = now
		if time.Since(said) >= SayAfter {
			said = time.Now()
			waited := quantity.Duration(time.Since(start).Round(time.Second))
			c.Say(fmt.Sprintf("waiting for %s (%v): %s", awaited, waited, safetext.Head(now, 300)))
		}
		_ = testbed.Pause(limited, pause)
	}
}
