// Package cluster is the connection to one Kubernetes cluster.
//
// Connect finds the cluster through the kubeconfig. Its errors explain in plain words why a cluster cannot be
// used. Every request has a time limit. A request is repeated while the API server is unavailable (Retrying).
// Cluster.Await waits for states that take longer, and also has a limit. Errors about an object include the
// cluster's events and logs about this object (DiagnosedError, Explain). This package knows nothing of sites,
// arms or runs.
package cluster

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Options configure a connection.
type Options struct {
	Kubeconfig string       // path of the kubeconfig; "" means kubectl's defaults
	Version    string       // version of Tare
	Say        func(string) // takes a line of progress; nil drops it
}

// Cluster is the connection to one cluster. Client and Dynamic limit every request by the testbed's timeout
// request, and repeat a request after temporary errors. Config does neither of these.
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

// Mapping returns the resource of a kind. It caches the cluster's kinds. A kind that is not in the cache may
// just have been installed, and so Mapping reads the kinds again before it reports an unknown kind. If the
// kind is unknown, meta.IsNoMatchError is true for the error.
func (c *Cluster) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	c.mapper.Reset()
	return c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Now returns the time by the API server's clock, which is the same for all clients. If the API server does
// not return its time, Now returns the time of this machine.
func (c *Cluster) Now(ctx context.Context) time.Time {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if now, err := c.serverTime(limited); err == nil {
		return now
	}
	return time.Now()
}

func (c *Cluster) serverTime(ctx context.Context) (time.Time, error) {
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return time.Time{}, err
	}
	server, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return time.Time{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.JoinPath("version").String(), nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := client.Do(r)
	if err != nil {
		return time.Time{}, err
	}
	response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}

// NameLimit is the maximum length of a DNS label. Names of most objects must be DNS labels.
const NameLimit = 63

// Label turns a text into a DNS label: lower-case letters, digits and single dashes inside.
// The result is also valid as the value of a Kubernetes label.
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
