// Package cluster talks to one Kubernetes cluster.
//
// Connect finds it through the kubeconfig and says in plain words why it cannot be
// used. Every request is bounded, and repeated while the API server is away
// (Patience); what takes longer is waited for with a limit (Cluster.Await), and an
// error says what the cluster itself says about the object in question
// (DiagnosedError, Explain). Nothing here knows of sites, arms or runs.
package cluster

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Options are what it takes to connect.
type Options struct {
	Kubeconfig string       // path; "" for the usual ones
	Version    string       // of Tare
	Say        func(string) // takes a line of progress; nil drops it
}

// Cluster is one cluster, by its context. Client and Dynamic bound every request
// by the testbed's timeout request and repeat it while the error is temporary;
// Config does neither.
type Cluster struct {
	Context string // as in the kubeconfig
	UID     string // of the namespace kube-system: says whether two contexts are one cluster
	Config  *rest.Config
	Client  kubernetes.Interface
	Dynamic dynamic.Interface

	// Progress takes what Say is told; nil drops it.
	Progress func(string)

	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// Say takes a line of progress: "making namespace tare-1".
func (c *Cluster) Say(line string) {
	if c.Progress != nil {
		c.Progress(line)
	}
}

// Mapping finds the resource of a kind. That the cluster has no such kind is an
// error that meta.IsNoMatchError knows; it is asked anew before that is said, since
// the kind may have been installed in the meantime.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.mapper.Reset()
	return c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Now is the time by the API server's clock, which all who use the cluster
// share; by this machine's clock where the server does not say.
func (c *Cluster) Now(ctx context.Context) time.Time {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return time.Now()
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodGet, strings.TrimSuffix(serverURL(c.Config), "/")+"/version", nil)
	if err != nil {
		return time.Now()
	}
	answer, err := client.Do(r)
	if err != nil {
		return time.Now()
	}
	answer.Body.Close()
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

func serverURL(config *rest.Config) string {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return config.Host
	}
	return url.String()
}

// NameLimit is the length of a DNS label, which most names must be.
const NameLimit = 63

// Label turns a text into a DNS label, which is also valid as the value of a
// label: lower-case letters, digits and single dashes inside.
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
