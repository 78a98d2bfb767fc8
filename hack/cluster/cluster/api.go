package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tare/hack/cluster/pki"
)

// api is the little of a Kubernetes client that bringing a cluster up takes.
type api struct {
	server string
	client *http.Client
}

func newAPI(server string, authority []byte, admin pki.Pair) (*api, error) {
	cert, err := tls.X509KeyPair(admin.Cert, admin.Key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("the authority's certificate does not parse")
	}
	return &api{server: server, client: &http.Client{
		Timeout: 10 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}},
		},
	}}, nil
}

// get reads path into out, unless that is nil.
func (a *api) get(ctx context.Context, path string, out any) error {
	return a.do(ctx, http.MethodGet, path, nil, out)
}

// create posts an object to a collection's path.
func (a *api) create(ctx context.Context, path string, object any) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return a.do(ctx, http.MethodPost, path, bytes.NewReader(content), nil)
}

func (a *api) do(ctx context.Context, method, path string, body io.Reader, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, a.server+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		text := strings.TrimSpace(string(content))
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text[:min(len(text), 500)])
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(content, out)
}
