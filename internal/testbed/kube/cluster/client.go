package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	apps "k8s.io/client-go/kubernetes/typed/apps/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batch "k8s.io/client-go/kubernetes/typed/batch/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	node "k8s.io/client-go/kubernetes/typed/node/v1"
	storage "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/exec"
	"k8s.io/client-go/util/flowcontrol"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
)

// Client has the API groups that Tare uses. All groups of kubernetes.Interface would make the program 7 MB larger.
type Client interface {
	Discovery() discovery.DiscoveryInterface
	AppsV1() apps.AppsV1Interface
	AuthenticationV1() authentication.AuthenticationV1Interface
	AuthorizationV1() authorization.AuthorizationV1Interface
	BatchV1() batch.BatchV1Interface
	CoreV1() core.CoreV1Interface
	NodeV1() node.NodeV1Interface
	StorageV1() storage.StorageV1Interface
}

// NewClient makes the client of a cluster. All groups of the API share one transport and one limit of requests.
func NewClient(config *rest.Config) (Client, error) {
	c := &client{config: *config}
	c.config.UserAgent = cmp.Or(c.config.UserAgent, rest.DefaultKubernetesUserAgent())
	var err error
	if c.transport, err = rest.HTTPClientFor(&c.config); err != nil {
		return nil, err
	}
	if c.config.RateLimiter == nil && c.config.QPS > 0 {
		c.config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.config.QPS, max(1, c.config.Burst))
	}
	_, err = core.NewForConfigAndClient(&c.config, c.transport) // one group is enough: a bad configuration fails for every group
	return c, err
}

type client struct {
	config    rest.Config
	transport *http.Client
}

// group makes the client of a group of the API. It cannot fail, since NewClient has checked the configuration.
func group[T any](c *client, makes func(*rest.Config, *http.Client) (T, error)) T {
	made, _ := makes(&c.config, c.transport)
	return made
}

func (c *client) Discovery() discovery.DiscoveryInterface {
	return group(c, discovery.NewDiscoveryClientForConfigAndClient)
}
func (c *client) AuthenticationV1() authentication.AuthenticationV1Interface {
	return group(c, authentication.NewForConfigAndClient)
}
func (c *client) AuthorizationV1() authorization.AuthorizationV1Interface {
	return group(c, authorization.NewForConfigAndClient)
}
func (c *client) AppsV1() apps.AppsV1Interface    { return group(c, apps.NewForConfigAndClient) }
func (c *client) BatchV1() batch.BatchV1Interface { return group(c, batch.NewForConfigAndClient) }
func (c *client) CoreV1() core.CoreV1Interface    { return group(c, core.NewForConfigAndClient) }
func (c *client) NodeV1() node.NodeV1Interface    { return group(c, node.NewForConfigAndClient) }
func (c *client) StorageV1() storage.StorageV1Interface {
	return group(c, storage.NewForConfigAndClient)
}

// PodInformer returns an informer, not yet running, of the pods of a namespace with these labels. The package
// informers' factory would link code for all resources.
func PodInformer(client Client, namespace, selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return client.CoreV1().Pods(namespace).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return client.CoreV1().Pods(namespace).Watch(ctx, o)
		},
	}, &corev1.Pod{}, 0, cache.Indexers{})
}

// API servers restart, and may be overloaded. Retrying repeats requests unless the request itself is at fault.

// The pause between tries of a request grows from firstPause to longestPause. A try may take the limit divided by
// tryDivisor: by default over 10 s, enough for a report of a silent admission webhook.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
	tryDivisor   = 2
)

type unansweredError struct {
	request string        // method and path: "GET /api/v1/nodes"
	after   time.Duration // time since the first try
	tries   int
	err     error // error of the last try
}

func (e *unansweredError) Error() string {
	after := e.after.Round(100 * time.Millisecond)
	return fmt.Sprintf("%s: not answered in %v (%d tries): %v", e.request, after, e.tries, e.err)
}

// Is reports whether the error of the last try is target. A method Unwrap would give the same answer, but client-go
// would then repeat requests.
func (e *unansweredError) Is(target error) bool { return errors.Is(e.err, target) }

// As sets target to the error of the last try, for the types of errors that the function unreachable explains. For
// other types, it returns false.
func (e *unansweredError) As(target any) bool {
	switch target.(type) {
	case *x509.CertificateInvalidError, *x509.UnknownAuthorityError, *x509.HostnameError, **net.DNSError, *net.Error:
		return errors.As(e.err, target)
	}
	return false
}

// Retrying gives requests a time limit, and repeats them while the API server is unavailable. Watches, followed logs
// and upgrades pass unchanged.
func Retrying(limit time.Duration) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return &retrying{next: next, limit: limit} }
}

type retrying struct {
	next  http.RoundTripper
	limit time.Duration
}

func (t *retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	endless := q.Get("watch") != "" || q.Get("follow") != "" || r.Header.Get("Upgrade") != ""
	if endless || r.Body != nil && r.GetBody == nil {
		return t.next.RoundTrip(r)
	}
	start := time.Now()
	deadline := start.Add(t.limit)
	for tries, pause := 1, firstPause; ; tries, pause = tries+1, min(2*pause, longestPause) {
		response, err := t.try(r, tries > 1)
		if r.Context().Err() != nil || err == nil && !slices.Contains(busyStatus, response.StatusCode) || err != nil && permanent(err) {
			return response, err
		}
		pause = max(pause, retryAfter(response))
		if time.Until(deadline) < pause {
			if err == nil {
				response.Header.Del("Retry-After") // without this header, client-go does not repeat the request itself
				return response, nil
			}
			return nil, &unansweredError{request: r.Method + " " + r.URL.Path, after: time.Since(start), tries: tries, err: err}
		}
		if response != nil {
			response.Body.Close()
		}
		if err := testbed.Pause(r.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// try sends the request with a time limit, and reads the complete response. With again = true, the request was sent
// before.
func (t *retrying) try(r *http.Request, again bool) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), max(t.limit/tryDivisor, time.Second))
	defer cancel()
	request := r.Clone(ctx)
	if again && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		request.Body = body
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// busyStatus lists the HTTP statuses whose cause is the state of the server, and not the request.
var busyStatus = []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func permanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var dns *net.DNSError
	return errors.As(err, &certificate) || errors.As(err, &alert) || errors.As(err, &dns) && dns.IsNotFound
}

// retryAfter returns the pause that the server requests, at most 10 s; 0 if it requests none.
func retryAfter(response *http.Response) time.Duration {
	if response == nil {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 10*time.Second)
}

// Exec runs a program in any container. It returns up to 1 MiB of each output. A failure is a *testbed.ExitError.
func (c *Cluster) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	options := &corev1.PodExecOptions{Container: container, Command: args, Stdout: true, Stderr: true}
	executor, err := c.executor(namespace, pod, options)
	if err != nil {
		return nil, nil, err
	}
	var out, errs headBuffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &errs})
	var code exec.CodeExitError
	switch {
	case errors.As(err, &code):
		err = &testbed.ExitError{Args: args, Code: code.Code, Stderr: safetext.Head(errs.buf.String(), 4096)}
	case err != nil:
		err = fmt.Errorf("run %s in pod %s/%s: %w", safetext.Head(testbed.Quote(args), 200), namespace, pod, err)
	}
	return out.buf.Bytes(), errs.buf.Bytes(), err
}

// headBuffer keeps the first MiB that is written to it, and drops the rest.
type headBuffer struct{ buf bytes.Buffer }

func (b *headBuffer) Write(p []byte) (int, error) {
	b.buf.Write(p[:min(len(p), 1<<20-b.buf.Len())])
	return len(p), nil
}

// executor prepares an exec by WebSocket, or by SPDY if the API server or a proxy does not support WebSocket.
func (c *Cluster) executor(namespace, pod string, o *corev1.PodExecOptions) (remotecommand.Executor, error) {
	url := c.Client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("exec").
		VersionedParams(o, scheme.ParameterCodec).URL()
	config := rest.CopyConfig(c.Config)
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		return nil, err
	}
	websocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// Dial runs a program in a container. It returns standard input and output as a stream; Close ends the program.
func (c *Cluster) Dial(ctx context.Context, namespace, pod, container string, args []string) (io.ReadWriteCloser, error) {
	options := &corev1.PodExecOptions{Container: container, Command: args, Stdin: true, Stdout: true, Stderr: true}
	executor, err := c.executor(namespace, pod, options)
	if err != nil {
		return nil, fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
	}
	// The context ctx limits only the time for connecting, so the stream gets a context of its own.
	streaming, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stdin, toAgent := io.Pipe()
	fromAgent, stdout := io.Pipe()
	go func() {
		var stderr headBuffer
		streams := remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &stderr}
		err := executor.StreamWithContext(streaming, streams)
		if said := strings.TrimSpace(stderr.buf.String()); said != "" {
			err = errors.Join(err, errors.New(safetext.Head(said, 500)))
		}
		if err == nil {
			err = io.EOF
		} else {
			err = fmt.Errorf("exec in pod %s/%s: %w", namespace, pod, err)
		}
		stdout.CloseWithError(err)
		stdin.CloseWithError(err)
	}()
	return &execStream{PipeReader: fromAgent, PipeWriter: toAgent, cancel: cancel}, nil
}

type execStream struct {
	*io.PipeReader // the program's standard output
	*io.PipeWriter // the program's standard input
	cancel         context.CancelFunc
}

func (e *execStream) Close() error {
	e.cancel()
	return errors.Join(e.PipeWriter.Close(), e.PipeReader.Close())
}
