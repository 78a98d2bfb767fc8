package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/reference"
	"tare/internal/layer"
	"tare/internal/layer/vaultserver"
	"tare/internal/layer/wireguard"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/workloadtest"
)

// step is a helper in the client's pod that makes a call, such as one that makes the leader step down.
var step = testbed.Helper{Name: "vault-test-call", Run: runCaller}

func TestMain(m *testing.M) {
	localtest.Main(m, append(Helpers, step, limiter, testbed.Helper{Name: wireguard.Kind.Name, Run: wireguard.Kind.Helper})...)
}

// runCaller makes one call, and writes the answer to a POST. The parts of its input are URL, authority, token, method,
// path, and the value of the body's fields.
func runCaller(ctx context.Context) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	part := strings.Split(string(text), "\x00")
	trust, err := load.Trust(part[1])
	if err != nil {
		return err
	}
	var answer json.RawMessage
	var out any
	if part[3] == http.MethodPost {
		out = &answer
	}
	if err := openAPI(part[0], trust, part[2]).call(ctx, part[3], part[4], map[string]string{"policy": part[5], "input": part[5]}, out); err != nil {
		return err
	}
	_, err = os.Stdout.Write(answer)
	return err
}

// call makes one call to a member, with the root token. It returns the answer to a POST.
func call(t testing.TB, up *servers, url, method, path, policy string) string {
	t.Helper()
	var answer strings.Builder
	cmd := testbed.HelperAt(up.site, testbed.ClientPod, step.Name)
	cmd.Stdout = &answer
	cmd.Stdin = strings.NewReader(strings.Join([]string{url, up.authority, up.prepared.Token, method, path, policy}, "\x00"))
	p, err := up.site.Start(t.Context(), testbed.ClientPod, cmd)
	if err == nil {
		_, err = p.Wait()
	}
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return answer.String()
}

// config returns a short workload.
func config(t *testing.T, members int) *Config {
	t.Helper()
	if _, err := findProgram("bao"); err != nil {
		t.Skip(err)
	}
	c := New().(*Config)
	c.Members, c.Workers, c.Secrets, c.Pace = factor.Of(members), factor.Of(8), 3, 1
	c.Duration, c.Warmup = factor.Of(quantity.Duration(time.Second)), quantity.Duration(100*time.Millisecond)
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	return c
}

func up(t testing.TB, c *Config, site testbed.Site) *servers {
	t.Helper()
	standing, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standing.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return asStanding(standing)
}

func asStanding(s workload.Server) *servers { return s.(*servers) }

// trialOf runs one trial. It calls between during the measured part, unless between is nil.
func trialOf(t testing.TB, c *Config, up *servers, between func()) (workload.Result, *workloadtest.Raw, error) {
	t.Helper()
	raw := new(workloadtest.Raw)
	measured, err := c.Prepare(t.Context(), &workload.Trial{Site: up.site, Raw: raw, Round: 1, Standing: up})
	if err != nil {
		return workload.Result{}, raw, err
	}
	if between != nil {
		go func() {
			time.Sleep(c.Duration.One().Std() / 3) // in the middle of the load, whose duration is fixed
			between()
		}()
	}
	result, err := measured(t.Context())
	return result, raw, err
}

// broke checks that an error breaks a rule, and that its detail holds a text.
func broke(t testing.TB, err error, rule, text string) {
	t.Helper()
	var invalid *workload.Invalid
	if !errors.As(err, &invalid) || invalid.Rule != rule || !strings.Contains(invalid.Detail, text) {
		t.Errorf("got %v, want rule %s: %s", err, rule, text)
	}
}

// One member performs all operations, in a closed and an open loop.
func TestRealTimeOperations(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 1)
	c.Operations = operations{Sign: 1, Verify: 1, Encrypt: 1, Decrypt: 1, Read: 1, Write: 1}
	site := localtest.Members(t, 1, 0, 1500)
	servers := up(m, c, site)
	result, raw, err := trialOf(m, c, servers, nil)
	if err != nil {
		m.Fatal(err)
	}
	for _, metric := range c.Measures().Metrics {
		if v, ok := result.Values[metric.Name]; !metric.Optional && (!ok || metric.Scale == "ratio" && v <= 0) {
			m.Errorf("%s: %v, %v", metric.Name, v, ok)
		}
	}
	for _, o := range c.Operations.drawn() {
		if mean := result.Values[o.name+"-latency-mean"]; !(mean >= result.Values["latency-min"] && mean <= result.Values["latency-max"]) {
			m.Errorf("%s takes %v on average, of %v to %v", o.name, mean, result.Values["latency-min"], result.Values["latency-max"])
		}
	}
	if result.Failed != 0 || result.Work < 50 {
		m.Errorf("%v of %v requests failed: %s", result.Failed, result.Work, raw.Texts()["load.json"])
	}
	for part, least := range map[string]int64{"client": 1 << 20, "server": 20 << 20} {
		if used := result.Used[part]; used.CPU() <= 0 || used.MaxRSS < least {
			m.Errorf("%s used %+v", part, used)
		}
	}
	for name, file := range raw.Texts() { // the servers' output must not hold a token either
		for _, secret := range []string{servers.prepared.Token, servers.prepared.LoadToken} {
			if secret == "" || strings.Contains(file, secret) {
				m.Errorf("%s holds a token", name)
			}
		}
	}
	if !slices.Contains(raw.Names(), "member-1.log") {
		m.Error("the log of the member is not kept")
	}

	open := *c
	open.Workers, open.Rate = nil, factor.Of[quantity.Frequency](100)
	if result, _, err = trialOf(m, &open, servers, nil); err != nil || result.Values["rate"] < 90 || result.Values["rate"] > 110 {
		m.Errorf("at 100/s: %v, %v", result.Values, err)
	}

	// All errors count, and the limit on errors applies to the trial.
	result, _, err = trialOf(m, c, servers, func() {
		call(m, servers, servers.urls[0], http.MethodPut, "sys/policies/acl/"+servers.prepared.Mount, `path "secret/*" { capabilities = ["read"] }`)
	})
	if err != nil || result.Failed < 0.1 || result.Failed >= 1 {
		m.Errorf("a policy that forbids in the middle of a trial: %v of the requests failed, %v", result.Failed, err)
	}

	// An existing server gets engines for the run, which are removed again.
	foreign := config(t, 1)
	foreign.URL, foreign.Token = servers.urls[0], "$TARE_TEST_VAULT"
	t.Setenv("TARE_TEST_VAULT", servers.prepared.Token)
	if refs := foreign.Token.References(); !slices.Equal(refs, []reference.Reference{{Variable: "TARE_TEST_VAULT"}}) {
		m.Errorf("references %v", refs)
	}
	there := up(m, foreign, site)
	if result, _, err := trialOf(m, foreign, there, nil); err != nil || result.Failed != 0 {
		m.Errorf("at a url: %v, %v", result.Failed, err)
	}
	if err := there.Down(t.Context()); err != nil {
		m.Error(err)
	}
	if _, _, err := trialOf(m, foreign, there, nil); err == nil || !strings.Contains(err.Error(), "none of ") {
		m.Errorf("after its engines were removed: %v", err)
	}
}

// settings puts the layer around a site.
func settings(t testing.TB, site testbed.Site, l *vaultserver.Config) (*layer.Active, testbed.Site) {
	t.Helper()
	a, err := l.Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Fatal(err)
	}
	return a, layer.WithWrappers(site, a)
}

// The layer gives three members TLS and an audit file. Its proofs hold, and fail for other settings. Failures
// of members break the trial.
func TestRealTimeMembersWithTLSAndAudit(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 5)
	on := &vaultserver.Config{TLS: factor.Of(true), Audit: factor.Of(vaultserver.FileAudit), Members: factor.Of(3)}
	active, site := settings(m, localtest.Members(t, 5, 0, 1500), on)
	servers := up(m, c, site)
	if len(servers.members) != 3 {
		m.Fatalf("%d members", len(servers.members))
	}
	with := testbed.Holding(site, servers)
	all := func(what string, want bool, checks []layer.Check, err error) {
		t.Helper()
		if err != nil || len(checks) == 0 {
			m.Errorf("%s: %v, %v", what, checks, err)
		}
		for _, k := range checks {
			if k.OK != want {
				m.Errorf("%s: %+v", what, k)
			}
		}
	}
	checks, err := active.Before(t.Context(), with)
	all("on", true, checks, err)
	if got := fmt.Sprint(checks); !strings.Contains(got, "TLS: TLS 1.3; plaintext: status 400") {
		m.Errorf("%s", got)
	}
	if len(checks) != 3 {
		m.Errorf("%d checks", len(checks))
	}
	checks, err = on.ProveOff(t.Context(), new(layer.Run).At(with))
	all("off", false, checks, err)
	other := &vaultserver.Config{TLS: factor.Of(false), Audit: factor.Of(vaultserver.NoAudit), Members: factor.Of(5)}
	checks, err = other.ProveOff(t.Context(), new(layer.Run).At(with))
	all("the opposite is off", true, checks, err)
	wrong, _ := settings(m, site, other)
	checks, err = wrong.Before(t.Context(), with)
	all("the opposite is on", false, checks, err)

	result, _, err := trialOf(m, c, servers, nil)
	if err != nil || result.Failed != 0 {
		m.Fatalf("%v, %v", result.Failed, err)
	}
	checks, err = active.After(t.Context(), layer.Did{})
	all("audited", true, checks, err)
	call(m, servers, servers.urls[0], http.MethodDelete, "sys/audit/tare", "")
	if _, _, err := trialOf(m, c, servers, nil); err != nil {
		m.Fatal(err)
	}
	checks, err = active.After(t.Context(), layer.Did{})
	all("without the device", false, checks, err)
	checks, err = active.Before(t.Context(), with)
	if err != nil || len(checks) != 3 || checks[1].OK {
		m.Errorf("without the device: %+v, %v", checks, err)
	}
	if _, err = active.Before(t.Context(), site); err == nil {
		m.Error("proven without servers")
	}

	// The leader steps down during a trial. The next trial finds the new leader.
	leader := func() string {
		s, err := servers.State(t.Context())
		if err != nil {
			m.Fatal(err)
		}
		return s.Leader
	}
	first := leader()
	c.Duration = factor.Of(quantity.Duration(3 * time.Second))
	_, _, err = trialOf(m, c, servers, func() { call(m, servers, first, http.MethodPut, "sys/step-down", "") })
	broke(m, err, workload.RuleServer, "")
	c.Duration = factor.Of(quantity.Duration(time.Second))
	fit.Await(t, "a trial with another leader", func() bool {
		result, _, err := trialOf(m, c, servers, nil)
		return err == nil && result.Failed == 0
	})

	// A member that has ended breaks the trial, and has the arm set up again.
	_, raw, err := trialOf(m, c, servers, func() { _ = servers.members[2].Down(context.Background()) })
	broke(m, err, workload.RuleServer, "member-3 has ended")
	if servers.Check(t.Context()) == nil || !slices.Contains(raw.Names(), "member-3.log") {
		m.Error("a cluster that has lost a member is whole")
	}
}

// A sealed leader breaks the trial, and has the arm set up again.
func TestRealTimeSealed(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 1)
	servers := up(m, c, localtest.Members(t, 1, 0, 1500))
	_, _, err := trialOf(m, c, servers, func() { call(m, servers, servers.urls[0], http.MethodPut, "sys/seal", "") })
	broke(m, err, workload.RuleServer, "")
	if servers.Check(t.Context()) == nil {
		m.Error("sealed servers are whole")
	}
}

// The members' traffic uses the nodes' tunnel if there is one. Raft's new connections name their protocol in
// plaintext (ALPN).
func TestRealTimeMembersOverWireGuard(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 3)
	seen := func(site testbed.Site) int {
		wire, ok := testbed.As[testbed.Wire](site)
		if !ok {
			m.Fatal("no wire")
		}
		stop, err := wire.Watch(t.Context(), []byte("raft_storage_v1"))
		if err != nil {
			m.Fatal(err)
		}
		servers := up(m, c, site)
		frames, err := stop()
		if err != nil {
			m.Fatal(err)
		}
		if state, err := servers.State(t.Context()); err != nil || len(state.Peers) != 3 {
			m.Fatalf("%+v, %v", state, err)
		}
		return frames
	}
	if frames := seen(localtest.Members(t, 3, 0, 1500)); frames == 0 {
		m.Error("without a tunnel nothing of raft is seen on the wire: what is looked for is not there")
	}
	site := localtest.Members(t, 3, 0, 1500)
	tunnel := wireguard.Kind.New()
	a, err := tunnel.Up(t.Context(), new(layer.Run).At(site))
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = a.Down(context.Background()) })
	if frames := seen(layer.WithWrappers(site, a)); frames != 0 {
		m.Errorf("%d frames of raft in clear on the wire beside the tunnel", frames)
	}
}

// An error of the set-up names its cause.
func TestNotReady(t *testing.T) {
	c := config(t, 1)
	site := localtest.Members(t, 1, 0, 1500)
	c.Program, c.Within = "false", quantity.Duration(time.Second)
	_, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err == nil || !strings.Contains(err.Error(), "the member-1 has ended") {
		t.Errorf("got %v", err)
	}
	c.Program = "no-such-bao"
	if _, err = c.SetUp(t.Context(), workload.SetUp{Site: site}); err == nil || !strings.Contains(err.Error(), "no-such-bao") {
		t.Errorf("got %v", err)
	}
}
