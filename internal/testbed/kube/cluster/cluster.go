// Package cluster is the connection to one Kubernetes cluster.
//
// Connect finds the cluster through the kubeconfig. Its errors explain in plain words why a cluster cannot be used.
// Requests have a time limit, and are repeated while the API server is unavailable (Retrying). Cluster.Await waits for
// states that take longer. Errors about an object include its events and logs (DiagnosedError, Explain). This package
// knows nothing of sites, arms or runs.
package cluster

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // supports OIDC and credential plugins
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Options configure a connection.
type Options struct {
	Kubeconfig string // path of the kubeconfig; "" means kubectl's defaults
	Version    string
	Say        func(string) // takes a line of progress; nil drops it
}

// Cluster is the connection to one cluster. Requests of Client and Dynamic have the experiment's time limit "request",
// and are repeated. Requests that use Config have neither.
type Cluster struct {
	Context string // name of the context in the kubeconfig
	UID     string // UID of the namespace kube-system, which identifies the cluster
	Config  *rest.Config
	Client  Client
	Dynamic dynamic.Interface

	Progress func(string) // takes the lines of Say; nil drops them

	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// Say reports a line of progress, such as "making namespace tare-1".
func (c *Cluster) Say(line string) {
	if c.Progress != nil {
		c.Progress(line)
	}
}

// Mapping returns the resource of a kind, from a cache or else from the cluster. For an unknown kind,
// meta.IsNoMatchError reports true for the error.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.mapper.Reset()
	return c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Now returns the time by the API server's clock or, if that is unknown, by this machine's clock.
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

// Label turns a text into a DNS label of at most limit characters, which is also a valid value of a Kubernetes label.
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

// FirstPoll is the first pause between polls; pauses grow to LastPoll. Polling needs fewer rights than watching, and
// survives a restart of the API server.
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

// Await calls poll with growing pauses until it succeeds, fails or exceeds the limit. Errors name the awaited state,
// such as "condition Ready of VarmorPolicy demo", and the latest one (now).
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

// dropLogs discards the logs of client-go. They are about errors that Tare handles itself.
var dropLogs = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

// Connect connects to the cluster of a context in the kubeconfig.
func Connect(ctx context.Context, o Options, name string, limits experiment.Timeouts) (*Cluster, error) {
	dropLogs()
	config, name, err := configure(o, name)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "tare/" + safetext.Head(o.Version, 64)
	config.QPS = -1 // no client-side rate limit: requests are few, and the API server limits requests itself
	config.WarningHandler = rest.NoWarnings{}
	c := &Cluster{Context: name, Config: config, Progress: o.Say}
	retrying := rest.CopyConfig(config)
	retrying.Wrap(Retrying(limits.Request.Std()))
	if c.Client, err = NewClient(retrying); err == nil {
		c.Dynamic, err = dynamic.NewForConfig(retrying)
	}
	if err != nil {
		return nil, fmt.Errorf("context %s: %w", name, err)
	}
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	system, err := c.firstRequest(ctx, limits.Request.Std())
	var timeout *TimeoutError
	switch {
	case errors.As(err, &timeout):
		return nil, fmt.Errorf("context %s: %w", name, err)
	case err == nil:
		c.UID = string(system.UID)
	case apierrors.IsForbidden(err): // a user may lack this right: only comparisons of runs use the UID
	default:
		return nil, unreachable(name, config.Host, err)
	}
	return c, nil
}

// firstRequest reads the namespace kube-system, to see whether the cluster answers. limit bounds the wait for the
// kubeconfig's credential plugin.
func (c *Cluster) firstRequest(ctx context.Context, limit time.Duration) (*corev1.Namespace, error) {
	get := func() (*corev1.Namespace, error) {
		return c.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	}
	plugin := c.Config.ExecProvider
	if plugin == nil {
		return get()
	}
	what := "the credential plugin " + safetext.Head(plugin.Command, 200)
	var namespace *corev1.Namespace
	done := make(chan error, 1)
	go func() {
		got, err := get()
		namespace = got
		done <- err
	}()
	progress, end := time.After(SayAfter), time.After(limit)
	for {
		select {
		case err := <-done:
			return namespace, err
		case <-progress:
			c.Say("waiting for " + what)
		case <-end:
			return nil, &TimeoutError{What: what, Limit: limit,
				Now: "no credentials yet: call it by hand to see what it waits for"}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// configure returns the configuration from a kubeconfig or, without contexts, from the service account of Tare's own
// pod. The string is the context's name.
func configure(o Options, name string) (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	raw, err := rules.Load()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	where := strings.Join(rules.GetLoadingPrecedence(), ", ")
	if len(raw.Contexts) == 0 && name == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, "", fmt.Errorf("no kubeconfig: there are no contexts in %s; set KUBECONFIG or write one there", where)
		}
		return config, "in-cluster", nil
	}
	name = cmp.Or(name, raw.CurrentContext)
	known := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	if name == "" {
		return nil, "", fmt.Errorf("kubeconfig %s has no current context: "+
			"name one by testbed.kubernetes.context (there are %s)", where, known)
	}
	if raw.Contexts[name] == nil {
		return nil, "", fmt.Errorf("kubeconfig %s has no context %q (there are: %s)", where, name, cmp.Or(known, "none"))
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig, context %s: %w", name, err)
	}
	return config, name, nil
}

func unreachable(name, host string, err error) error {
	var certificate x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var dns *net.DNSError
	var timeout net.Error
	why := "it gives no usable answer"
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case apierrors.IsUnauthorized(err):
		why = "it does not know who asks (the credentials in the kubeconfig are wrong or have expired)"
	case errors.As(err, &certificate) && certificate.Reason == x509.Expired,
		strings.Contains(err.Error(), "tls: expired certificate"): // error if the server has rejected the client's certificate
		why = "a certificate has expired or is not valid yet (is the clock right?)"
	case errors.As(err, &unknown), errors.As(err, &hostname):
		why = "its certificate is not the one that the kubeconfig expects"
	case errors.As(err, &dns):
		why = "its name is not known here"
	case errors.Is(err, errRefused):
		why = "nothing listens there (is the cluster up?)"
	case errors.Is(err, errNoHost), errors.Is(err, errNoNetwork):
		why = "there is no way to it from here"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		why = "it does not answer (a firewall or a VPN may be in the way)"
	}
	return fmt.Errorf("the API server of context %s at %s cannot be used: %s: %w", name, host, why, err)
}
