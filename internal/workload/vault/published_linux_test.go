package vault

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/layer/vaultserver"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/local/localtest"
	tarehttp "tare/internal/workload/http"
	"tare/internal/workload/http/load"
	"tare/internal/workload/staircase"
)

// The servers' own log of requests has the operations, shares, algorithms and payloads of the published load.
func TestRealTimePublishedLoad(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 1)
	c.Profile = vaultBenchmark
	c.fill(func(field string) bool { return field == "members" || field == "duration" || field == "workers" })
	c.Audit = factor.Of(vaultserver.FileAudit)
	if errs := c.validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	servers := up(m, c, localtest.Members(t, 1, 0, 1500))
	result, raw, err := trialOf(m, c, servers, nil)
	if err != nil || result.Failed != 0 {
		m.Fatalf("%v failed, %v", result.Failed, err)
	}
	var about struct{ Keys map[string]string }
	raw.JSON(t, "servers.json", &about)
	if fmt.Sprint(about.Keys) != "map[encryption:rsa-2048 signing:rsa-2048]" {
		t.Errorf("keys %v", about.Keys)
	}
	var sent load.Result
	raw.JSON(t, "load.json", &sent)
	for agreed := range sent.Handshakes {
		if !strings.Contains(agreed, ", h2") {
			t.Errorf("a connection with %s", agreed)
		}
	}
	hash := func(text string) string { // the log has values only as hashes that the server can repeat
		var answer struct{ Data struct{ Hash string } }
		if err := json.Unmarshal([]byte(call(t, servers, servers.urls[0], http.MethodPost, "sys/audit-hash/tare", text)), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Data.Hash
	}
	want := map[string]map[string]string{
		"sign":    {"signature_algorithm": hash("pss")},
		"verify":  {"signature_algorithm": hash("pkcs1v15"), "signature": hash(servers.prepared.Signature)},
		"encrypt": {"plaintext": hash(base64.StdEncoding.EncodeToString([]byte(payload(128))))},
		"decrypt": {"ciphertext": hash(servers.prepared.Ciphertext)},
	}
	text, err := os.ReadFile(servers.auditFile)
	if err != nil {
		t.Fatal(err)
	}
	requests, all, empty := map[string]int{}, 0, map[string]bool{}
	for line := range bytes.Lines(text) {
		var entry struct {
			Type    string
			Request struct {
				Path string
				Data map[string]string
			}
		}
		if err := json.Unmarshal(line, &entry); err != nil || entry.Type != "request" || !strings.Contains(entry.Request.Path, "-transit/") {
			continue
		}
		operation := strings.Split(entry.Request.Path, "/")[1]
		if input, signs := entry.Request.Data["input"]; signs { // a server does not tell the hash of an empty text
			empty[input] = true
			delete(entry.Request.Data, "input")
		}
		if got := entry.Request.Data; fmt.Sprint(got) != fmt.Sprint(want[operation]) {
			t.Fatalf("%s has %v, want %v", entry.Request.Path, got, want[operation])
		}
		requests[operation]++
		all++
	}
	if all < int(sent.OK) || len(requests) != 4 || len(empty) != 1 {
		m.Errorf("%d requests in the log, %d answered: %v, with %d inputs", all, sent.OK, requests, len(empty))
	}
	t.Logf("%d requests in the log: %v", all, requests)
	for operation, n := range requests { // four standard deviations of a binomial distribution
		if math.Abs(float64(n)/float64(all)-0.25) > 4*math.Sqrt(0.25*0.75/float64(all)) {
			t.Errorf("%s: %d of %d requests", operation, n, all)
		}
	}
}

// limiter is a proxy in the client's pod that refuses requests while it forwards most others.
var limiter = testbed.Helper{Name: "vault-test-limiter", Run: func(ctx context.Context) error {
	const most = 20
	to, err := url.Parse(os.Getenv("LIMITER_TO"))
	if err != nil {
		return err
	}
	forward, underWay := httputil.NewSingleHostReverseProxy(to), atomic.Int64{}
	forward.Transport = &http.Transport{MaxIdleConnsPerHost: most}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", limiterAt)
	if err != nil {
		return err
	}
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer underWay.Add(-1)
		if underWay.Add(1) > most {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		forward.ServeHTTP(w, r)
		time.Sleep(20 * time.Millisecond) // the first requests of a try meet at the proxy
	})}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	fmt.Println() // the proxy listens
	return server.Serve(l)
}}

const limiterAt = "127.0.0.1:18200"

// A search finds how many workers a proxy in front of the servers carries. At the servers themselves, whose limit no try
// reaches, it says so.
func TestRealTimeSearchOfWorkers(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 1)
	site := localtest.Members(t, 1, 0, 1500)
	servers := up(m, c, site)
	cmd := testbed.HelperAt(site, testbed.ClientPod, limiter.Name)
	cmd.Env = append(cmd.Env, "LIMITER_TO="+servers.urls[0])
	listens, out := io.Pipe()
	cmd.Stdout = out
	ctx, stop := context.WithCancel(context.Background()) // the servers' cleanup goes through the proxy
	proxy, err := site.Start(ctx, testbed.ClientPod, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_, _ = proxy.Wait()
	})
	if _, err := listens.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	limited := config(t, 1)
	limited.URL, limited.Token, limited.Objective = "http://"+limiterAt, "$TARE_TEST_VAULT", &tarehttp.Objective{}
	limited.Duration = factor.Of(quantity.Duration(200 * time.Millisecond))
	t.Setenv("TARE_TEST_VAULT", servers.prepared.Token)
	found, raw, err := trialOf(m, limited, up(m, limited, site), nil)
	if err != nil {
		m.Fatal(err)
	}
	var record staircase.Record[any]
	raw.JSON(t, "search.json", &record)
	if got := found.Values["capacity"]; got < 17 || got > 24 || len(record.Tries) < 8 {
		m.Errorf("%v workers after %d tries", got, len(record.Tries))
	}
	if found.Used["client"].CPU() <= 0 || found.Work < 100 {
		m.Errorf("%+v", found)
	}

	c.Objective = &tarehttp.Objective{Most: 16}
	c.Duration = limited.Duration
	_, _, err = trialOf(m, c, servers, nil)
	broke(m, err, "rate", "all were carried, up to 16 workers")
}

// A try in which the leader changes is not carried, and the next goes to the new leader.
func TestRealTimeSearchAfterTheLeader(t *testing.T) {
	m := fit.Machine(t)
	c := config(t, 3)
	servers := up(m, c, localtest.Members(t, 3, 0, 1500))
	c.Objective = &tarehttp.Objective{}
	state, err := servers.State(t.Context())
	if err != nil {
		m.Fatal(err)
	}
	r := &trial{up: servers, before: state, within: time.Minute}
	if to, failed, err := r.leader(t.Context()); to != state.Leader || failed != "" || err != nil {
		m.Errorf("%s, %q, %v", to, failed, err)
	}
	call(m, servers, state.Leader, http.MethodPut, "sys/step-down", "")
	fit.Await(t, "another leader", func() bool {
		to, failed, err := r.leader(t.Context())
		if err != nil {
			m.Fatal(err)
		}
		return to == r.before.Leader && strings.HasPrefix(failed, "the leader changed: ")
	})
}
