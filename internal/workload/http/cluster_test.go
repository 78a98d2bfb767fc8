package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube"
	"tare/internal/testbed/kube/sitetest"
	"tare/internal/workload"
	"tare/internal/workload/http/load"
	"tare/internal/workload/service"
	"tare/internal/workload/workloadtest"
)

// onCluster opens a site of the workload on the test cluster.
func onCluster(t *testing.T, c *Config) *kube.Site {
	t.Helper()
	site := sitetest.Open(t, sitetest.Bed(t), "plain", c.Declare().Needs, sitetest.Unlimited())
	sitetest.Ready(t, site)
	return site
}

// ask runs a program in a pod and returns its output.
func ask(t *testing.T, site testbed.Site, where testbed.Place, args ...string) string {
	t.Helper()
	var out, why bytes.Buffer
	process, err := site.Start(t.Context(), where, testbed.Command{Args: args, Stdout: &out, Stderr: &why})
	if err == nil {
		_, err = process.Wait()
	}
	if err != nil {
		t.Fatalf("%v: %v %s", args, err, why.String())
	}
	return out.String()
}

// Four client pods work like one client. Together they send the number of requests that the server counts,
// and the histogram of a trial holds all their requests.
func TestClientsOnACluster(t *testing.T) {
	t.Parallel()
	const rate, clients, seconds = 200, 4, 3
	c := New().(*Config)
	c.Rate, c.Clients, c.Connections = factor.Of(quantity.Frequency(rate)), factor.Of(clients), factor.Of(8)
	c.Duration, c.Warmup, c.Late = quantity.Duration(seconds*time.Second), 0, 1000
	site := onCluster(t, c)
	if got := len(site.Clients()); got != clients {
		t.Fatalf("%d places of clients", got)
	}
	up, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = up.Down(context.Background()) }()
	at := up.(*server).Address[testbed.PodToPod]
	served := func() int64 {
		n, err := strconv.ParseInt(ask(t, site, testbed.ClientPod, "wget", "-q", "-O", "-", "http://"+at.String()+"/served"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var (
		before int64
		raw    *workloadtest.Raw
		result workload.Result
	)
	for range 10 { // on a busy machine a trial may miss its rate
		before, raw = served(), new(workloadtest.Raw)
		result, err = workloadtest.Run(t.Context(), c, &workload.Trial{Site: site, Raw: raw, Standing: up, Round: 1})
		var broken *workload.Invalid
		if !errors.As(err, &broken) || broken.Rule != workload.RuleRate {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	sent := served() - before - 1 // without the request that asks for the count

	var sum *load.Result
	raw.JSON(t, "load.json", &sum)
	one, all, most := load.NewHistogram(), int64(0), int64(0)
	for i := range clients {
		var part *load.Result
		raw.JSON(t, fmt.Sprintf("load-%d.json", i+1), &part)
		if part.Due != rate*seconds/clients {
			t.Errorf("client %d sent %d requests, not %d", i+1, part.Due, rate*seconds/clients)
		}
		all += part.Due
		for _, bar := range part.Latency.Raw().Distribution() { // record the requests one by one
			for range bar.Count {
				one.Record(time.Duration(bar.From))
			}
		}
		most = max(most, int64(part.Latency.Max()))
	}
	if sent != all || sum.Due != all || sum.OK != all || result.Work != float64(all) {
		t.Errorf("the server was sent %d requests; the clients sent %d, and their sum says %d, %d of them answered", sent, all, sum.Due, sum.OK)
	}
	if !one.Raw().Equals(sum.Latency.Raw()) || one.Count() != sum.Latency.Count() {
		t.Errorf("the histogram of all requests is not the sum of the clients'")
	}
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999} {
		if a, b := one.At(q), sum.Latency.At(q); a != b {
			t.Errorf("quantile %v: %v of one histogram, %v of the sum", q, a, b)
		}
	}
	if p50 := result.Values["latency-p50"]; p50 != sum.Latency.At((rate*seconds*0.5-0.5)/(rate*seconds)).Seconds() {
		t.Errorf("p50 %v is not that of the sum", p50)
	}
	var clocks []clock
	raw.JSON(t, "clocks.json", &clocks)
	if len(clocks) != clients || slices.ContainsFunc(clocks, func(c clock) bool { return c.Used || c.Within > time.Second }) {
		t.Errorf("clocks of one kernel: %+v", clocks)
	}
	pods, err := site.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range site.Clients() {
		if pods[where].Spec.NodeName == pods[testbed.ServerPod].Spec.NodeName {
			t.Errorf("%s is on the server's node", where)
		}
	}
}

// A server may be a program of an image, into which Tare installs its helper, or a server at a URL. Here the
// URL leads to the first server.
func TestServersOnACluster(t *testing.T) {
	t.Parallel()
	c := New().(*Config)
	c.Server = &service.Config{Run: []string{"busybox", "httpd", "-f", "-p", "$(TARE_PORT)", "-h", "/etc"}, Image: "tare.test/tools:1"}
	c.Path, c.Workers, c.Connections = "/passwd", factor.Of(2), factor.Of(2) // a closed loop, since a busy machine could miss a rate
	c.Duration, c.Warmup, c.Late = quantity.Duration(1500*time.Millisecond), 0, 1000
	c.Paths = factor.Of(testbed.PodToService)
	site := onCluster(t, c)
	up, err := c.SetUp(t.Context(), workload.SetUp{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = up.Down(context.Background()) }()

	elsewhere := *c
	elsewhere.Server, elsewhere.Path = nil, ""
	elsewhere.URL = "http://" + up.(*server).Address[testbed.PodToPod].String() + "/passwd"
	for name, one := range map[string]struct {
		config *Config
		up     workload.Server
	}{"image": {c, up}, "url": {&elsewhere, nil}} {
		result, err := workloadtest.Run(t.Context(), one.config, &workload.Trial{Site: site, Raw: new(workloadtest.Raw), Standing: one.up, Round: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, counted := result.Used["server"]
		if result.Work == 0 || result.Failed > 0.2 || result.Values["latency-mean"] <= 0 || counted != (one.up != nil) {
			t.Errorf("%s: %v requests, failed %v of %+v, %+v, used %+v", name, result.Work, result.Failed, result.Behaviour, result.Values, result.Used)
		}
	}
}
