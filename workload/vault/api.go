package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tare/safetext"
	"tare/testbed"
)

// api is the HTTP API of one server. https://openbao.org/api-docs/ has it; Vault's is the same.
type api struct {
	url    string // without a path
	token  string
	client *http.Client
}

// callLimit bounds one call.
const callLimit = 30 * time.Second

// openAPI is an API whose server's certificate is one of the authority in PEM; "" trusts the
// system's.
func openAPI(url, authority, token string) (*api, error) {
	trust, err := trusting(authority)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 16}
	return &api{url, token, &http.Client{Transport: transport, Timeout: callLimit}}, nil
}

func trusting(authority string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(authority)) {
			return nil, errors.New("the authority is no certificate in PEM")
		}
	}
	return c, nil
}

// refused is an answer other than 2xx.
type refused struct {
	status int
	text   string
}

func (e *refused) Error() string { return e.text }

// call asks, and reads the answer into out, unless that is nil. Errors name the path, and no
// token.
func (a *api) call(ctx context.Context, method, path string, body, out any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, a.url+"/v1/"+path, in)
	if err != nil {
		return err
	}
	if a.token != "" {
		request.Header.Set("X-Vault-Token", a.token)
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return err // names method and address
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if answer.StatusCode/100 != 2 {
		var told struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(text, &told) // else the status alone
		return &refused{answer.StatusCode, safetext.Line(strings.TrimSpace(fmt.Sprintf("%s %s: status %s %s", method, path, answer.Status, strings.Join(told.Errors, "; "))))}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: its answer cannot be read: %w", method, path, err)
	}
	return nil
}

// patiently repeats what fails until it does not, or the time is over.
func patiently(ctx context.Context, what func(context.Context) error) error {
	for {
		err := what(ctx)
		if err == nil || testbed.Pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}
