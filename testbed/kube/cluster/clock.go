package cluster

import (
	"context"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

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
