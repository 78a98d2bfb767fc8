package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // supports OIDC and credential plugins
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"tare/internal/experiment"
	"tare/internal/text/safetext"
)

// inCluster is the context's name if Tare runs in a pod without a kubeconfig.
const inCluster = "in-cluster"

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
	config.QPS = -1 // no client-side rate limit: requests are few, and the API server has its own
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
	case apierrors.IsForbidden(err): // the UID is optional: only comparisons of runs use it
	default:
		return nil, unreachable(name, config.Host, err)
	}
	return c, nil
}

// firstRequest reads the namespace kube-system. It has a time limit, since it may start the kubeconfig's credential
// plugin.
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
	progress, end := time.NewTimer(SayAfter), time.NewTimer(limit)
	defer progress.Stop()
	defer end.Stop()
	for {
		select {
		case err := <-done:
			return namespace, err
		case <-progress.C:
			c.Say("waiting for " + what)
		case <-end.C:
			return nil, &TimeoutError{What: what, Limit: limit,
				Now: "no credentials yet: call it by hand to see what it waits for"}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// configure reads the kubeconfig that the options name. Otherwise it reads the files in KUBECONFIG, or
// ~/.kube/config. Without any kubeconfig, it uses the service account of Tare's own pod. It also returns the name of
// the context.
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
		return config, inCluster, nil
	}
	if name == "" {
		name = raw.CurrentContext
	}
	known := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	if name == "" {
		return nil, "", fmt.Errorf("kubeconfig %s has no current context: "+
			"name one by testbed.kubernetes.context (there are %s)", where, known)
	}
	if raw.Contexts[name] == nil {
		if known == "" {
			known = "none"
		}
		return nil, "", fmt.Errorf("kubeconfig %s has no context %q (there are: %s)", where, name, known)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*raw, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig, context %s: %w", name, err)
	}
	return config, name, nil
}

// unreachable explains why the first request to an API server failed, and names a remedy if there is one.
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
		strings.Contains(err.Error(), "tls: expired certificate"): // the server has rejected a client certificate
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
