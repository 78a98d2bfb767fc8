package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tare/internal/testbed"
	"tare/internal/text/safetext"
	"tare/internal/workload/http/load"
)

// api is the HTTP API of one server (https://openbao.org/api-docs/), which OpenBao and Vault share.
type api struct {
	url    string // without a path
	token  string
	client *http.Client
}

// callLimit is the time limit of one call.
const callLimit = 30 * time.Second

// openAPI returns the API of a server. Authority, in PEM, is the certificate that signed the server's
// certificate; "" trusts the system's authorities.
func openAPI(url, authority, token string) (*api, error) {
	trust, err := load.Trust(authority)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 16}
	return &api{url, token, &http.Client{Transport: transport, Timeout: callLimit}}, nil
}

// statusError is a response with a status other than 2xx.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// call makes a call, and reads the response into out unless out is nil. Errors name the path, but no token.
func (a *api) call(ctx context.Context, method, path string, content, out any) error {
	var in io.Reader
	if content != nil {
		text, err := json.Marshal(content)
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
	response, err := a.client.Do(request)
	if err != nil {
		return err // the error names the method and address
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		var body struct {
			Errors []string `json:"errors"`
		}
		_ = json.Unmarshal(text, &body) // if this fails, the error has only the status
		return &statusError{response.StatusCode, safetext.Line(strings.TrimSpace(fmt.Sprintf("%s %s: status %s %s", method, path, response.Status, strings.Join(body.Errors, "; "))))}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s %s: its answer cannot be read: %w", method, path, err)
	}
	return nil
}

// retry repeats a call until it succeeds or the context ends.
func retry(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || testbed.Pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}
