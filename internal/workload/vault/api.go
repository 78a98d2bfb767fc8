package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"tare/internal/layer/vaultserver"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/helperrpc"
	"tare/internal/text/safetext"
	"tare/internal/workload/http/load"
)

// api is the HTTP API of one server (https://openbao.org/api-docs/), which OpenBao and Vault share.
type api struct {
	url    string // URL of the server, without a path
	token  string
	client *http.Client
}

const callLimit = 30 * time.Second

// openAPI returns the API of a server, whose certificate must be signed by an authority that is trusted.
func openAPI(url string, trust *tls.Config, token string) *api {
	transport := &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: 16}
	return &api{url, token, &http.Client{Transport: transport, Timeout: callLimit}}
}

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
		return err // err already names the method and address
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
		_ = json.Unmarshal(text, &body) // if the body is no JSON, the error has only the HTTP status
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

func retry(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || testbed.Pause(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// await repeats a GET until it succeeds or the context ends.
func (a *api) await(ctx context.Context, path string) error {
	return retry(ctx, func(ctx context.Context) error { return a.call(ctx, http.MethodGet, path, nil, nil) })
}

// request is one request to the workload's helper. Of the fields from Prepare to Empty, exactly one is set; it says
// what the helper does.
type request struct {
	URLs  []string `json:"urls,omitempty"` // URLs of the members' APIs, or the URL of the existing server
	CA    string   `json:"ca,omitempty"`
	Token string   `json:"token,omitempty"`
	// Foreign is set for an existing server, which Tare has not started. Its owner may forbid some calls.
	Foreign bool `json:"foreign,omitempty"`

	Prepare *setUpRequest `json:"prepare,omitempty"`
	Look    bool          `json:"look,omitempty"`
	Clear   string        `json:"clear,omitempty"` // name of the mounts to remove
	// Size is the path of a file whose size the helper returns. Empty is the path of a file that the helper truncates.
	Size  string `json:"size,omitempty"`
	Empty string `json:"empty,omitempty"`

	trust *tls.Config // trusts the certificates in CA; without CA, the system's authorities
}

var requestHelper = testbed.Helper{Name: "vault-order", Run: helperrpc.Answering("the request", carryOut)}

func carryOut(ctx context.Context, r *request) (_ any, err error) {
	if r.trust, err = load.Trust(r.CA); err != nil {
		return nil, err
	}
	switch {
	case r.Prepare != nil:
		return r.prepare(ctx)
	case r.Look:
		return r.state(ctx)
	case r.Clear != "":
		return nil, r.clear(ctx)
	case r.Size != "":
		about, err := os.Stat(r.Size)
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return nil, err
		}
		return about.Size(), nil
	case r.Empty != "":
		return nil, os.Truncate(r.Empty, 0)
	}
	return nil, errors.New("a request without content")
}

func (r *request) state(ctx context.Context) (*vaultserver.State, error) {
	var s vaultserver.State
	a := openAPI(r.URLs[0], r.trust, r.Token)
	var health struct {
		Version string `json:"version"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/health?standbyok=true&sealedcode=200", nil, &health); err != nil {
		return nil, err
	}
	s.Version = health.Version
	var leader struct {
		Address string `json:"leader_address"`
		Since   string `json:"active_time"`
		Self    bool   `json:"is_self"`
	}
	if err := a.call(ctx, http.MethodGet, "sys/leader", nil, &leader); err != nil {
		return nil, err
	}
	s.Leader = leader.Address
	if !r.Foreign { // asks the leader itself: only the leader knows since when it leads
		if !slices.Contains(r.URLs, s.Leader) {
			return nil, errors.New("the members have no leader")
		}
		a = openAPI(s.Leader, r.trust, r.Token)
		if err := a.call(ctx, http.MethodGet, "sys/leader", nil, &leader); err != nil {
			return nil, err
		}
		if !leader.Self {
			return nil, errors.New("the members do not agree on a leader")
		}
	}
	s.Since = leader.Since
	var err error
	if s.Peers, err = peersOf(ctx, a); r.ignoreForeign(err) != nil {
		return nil, err
	}
	if s.Audit, err = auditOf(ctx, a); r.ignoreForeign(err) != nil {
		return nil, err
	}
	for _, to := range r.URLs {
		l, err := listenerAt(ctx, to, r.trust)
		if err != nil {
			return nil, err
		}
		s.Listeners = append(s.Listeners, l)
	}
	return &s, nil
}

func peersOf(ctx context.Context, a *api) ([]vaultserver.Peer, error) {
	var answer struct {
		Data struct {
			Config struct {
				Servers []vaultserver.Peer `json:"servers"`
			} `json:"config"`
		} `json:"data"`
	}
	err := a.call(ctx, http.MethodGet, "sys/storage/raft/configuration", nil, &answer)
	return answer.Data.Config.Servers, err
}

func auditOf(ctx context.Context, a *api) ([]string, error) {
	var answer struct {
		Data map[string]struct {
			Type string `json:"type"`
		} `json:"data"`
	}
	err := a.call(ctx, http.MethodGet, "sys/audit", nil, &answer)
	return lists.Map(slices.Sorted(maps.Keys(answer.Data)), func(path string) string { return answer.Data[path].Type }), err
}

// ignoreForeign returns nil if an existing server refused a call, since its owner may forbid calls. It returns any
// other error unchanged.
func (r *request) ignoreForeign(err error) error {
	if _, refused := errors.AsType[*statusError](err); refused && r.Foreign {
		return nil
	}
	return err
}

func listenerAt(ctx context.Context, to string, trust *tls.Config) (l vaultserver.Listener, err error) {
	u, err := url.Parse(to)
	if err != nil {
		return l, err
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{}, Config: trust}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		l.TLS = safetext.Line(err.Error())
	} else {
		l.TLS, l.Encrypts = tls.VersionName(conn.(*tls.Conn).ConnectionState().Version), true
		_ = conn.Close()
	}
	plain := &api{url: "http://" + u.Host, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callLimit}}
	err = plain.call(ctx, http.MethodGet, "sys/seal-status", nil, nil)
	l.Clear = err == nil
	if l.Plain = "answered"; err != nil {
		l.Plain = safetext.Line(err.Error())
		if refused, ok := errors.AsType[*statusError](err); ok {
			l.Plain = fmt.Sprintf("status %d", refused.status)
		}
	}
	return l, nil
}
