package churn

import (
	"context"
	"encoding/csv"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/experiment/strictyaml"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/workload"
	"tare/internal/workload/workloadtest"
)

const (
	podTemplate = `
apiVersion: v1
kind: Pod
metadata:
  labels: {app: "app-{{mod .Index 3}}"}
spec:
  containers: [{name: main, image: pause}]
`
	serviceTemplate = `
apiVersion: v1
kind: Service
metadata: {name: "{{.Name}}", namespace: "{{.Namespace}}"}
spec: {ports: [{port: 80}]}
`
	deploymentTemplate = `
apiVersion: apps/v1
kind: Deployment
metadata: {annotations: {revision: "r{{.Revision}}"}}
spec: {replicas: 3}
`
	revisedTemplate = `
apiVersion: apps/v1
kind: Deployment
spec: {replicas: 3, revision: "r{{.Revision}}"}
`
	pods        = "/api/v1/namespaces/arm/pods"
	services    = "/api/v1/namespaces/arm/services"
	deployments = "/apis/apps/v1/namespaces/arm/deployments"
)

// config is a trial that ends quickly.
func config(objects int, templates ...string) *Config {
	c := New().(*Config)
	c.Objects = factor.Of(objects)
	c.Rate = factor.Of(quantity.Frequency(1000))
	c.Settle = 0
	c.Late = quantity.Duration(10 * time.Second)
	c.Shortfall = 1
	for _, t := range templates {
		c.Templates = append(c.Templates, Template{Inline: strictyaml.Document(t)})
	}
	return c
}

var armMarks = ownership{
	labels: map[string]string{"tare/owner": "me", "tare/arm": "arm"},
	owners: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "deadline", UID: "u"}},
}

// inPlace connects to the server.
func inPlace(t testing.TB, s *apiServer, c *Config) *target {
	t.Helper()
	p, err := c.newTarget(t.Context(), s.cluster(), "arm", armMarks)
	if err != nil {
		t.Fatal(err)
	}
	p.stem = "churn"
	return p
}

// trial runs one trial on the server.
func trial(t testing.TB, s *apiServer, c *Config) (workload.Result, *workloadtest.Raw, error) {
	t.Helper()
	raw := new(workloadtest.Raw)
	running, err := inPlace(t, s, c).prepare(t.Context(), raw)
	if err != nil {
		return workload.Result{}, raw, err
	}
	result, err := running.finish(t.Context(), &workload.Trial{Raw: raw})
	return result, raw, err
}

// rows reads requests.csv as verb, object and failure.
func rows(t *testing.T, raw *workloadtest.Raw) []string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(raw.Texts()["requests.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range records[1:] {
		list = append(list, strings.TrimSpace(r[0]+" "+r[1]+" "+r[7]))
	}
	return list
}

func TestMakesObjectsFromTemplatesInTurn(t *testing.T) {
	s := serve(t)
	c := config(5, podTemplate, serviceTemplate)
	result, raw, err := trial(t, s, c)
	if err != nil {
		t.Fatal(err)
	}
	if s.count(pods) != 3 || s.count(services) != 2 {
		t.Errorf("%d pods and %d services, want 3 and 2", s.count(pods), s.count(services))
	}
	o := s.objects[pods]["churn-4-1"]
	labels := o["metadata"].(object)["labels"].(object)
	want := object{"app": "app-1", "tare/owner": "me", "tare/arm": "arm", "tare/role": "churn"}
	if !maps.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
	for _, m := range c.measured() {
		if _, ok := result.Values[m.Name]; !ok {
			t.Errorf("the metric %s has no value", m.Name)
		}
	}
	if len(result.Values) != len(c.measured()) {
		t.Errorf("values %v beside the metrics %v", result.Values, c.measured())
	}
	if result.Failed != 0 || result.Work != 5 || result.Values["throttled"] != 0 || result.Values["ready-mean"] <= 0 || result.Values["rate"] > 1000 {
		t.Errorf("result %+v", result)
	}
	wantRows := []string{"create churn-0-1", "create churn-1-1", "create churn-2-1", "create churn-3-1", "create churn-4-1"}
	if got := rows(t, raw); !slices.Equal(got, wantRows) {
		t.Errorf("requests %q", got)
	}
	wantFiles := []string{"create-latency.hlog", "ready.hlog", "requests.csv", "send-lag.hlog", "summary.json", "template-0-pod.json", "template-1-service.json"}
	if got := raw.Names(); !slices.Equal(got, wantFiles) {
		t.Errorf("files %v", got)
	}
	var summary map[string]any
	if raw.JSON(t, "summary.json", &summary); summary["requests"] != 5.0 || summary["neverReady"] != 0.0 {
		t.Errorf("summary %v (%v)", summary, err)
	}
}

func TestChurn(t *testing.T) {
	for _, test := range []struct {
		name     string
		change   func(*Config)
		requests []string
		verbs    map[string]int // metrics that have values
		left     []string
	}{
		{"recreate", func(c *Config) {},
			[]string{"delete churn-0-1", "delete churn-2-1", "create churn-0-2", "create churn-2-2"},
			map[string]int{"create-latency-mean": 1, "delete-latency-mean": 1, "ready-mean": 1},
			[]string{"churn-0-2", "churn-1-1", "churn-2-2", "churn-3-1"}},
		{"recreate twice", func(c *Config) { c.Duration = quantity.Duration(9 * time.Millisecond) },
			[]string{"delete churn-0-1", "delete churn-2-1", "create churn-0-2", "create churn-2-2",
				"delete churn-0-2", "delete churn-2-2", "create churn-0-3", "create churn-2-3"},
			map[string]int{"create-latency-mean": 1, "delete-latency-mean": 1},
			[]string{"churn-0-3", "churn-1-1", "churn-2-3", "churn-3-1"}},
		{"update", func(c *Config) { c.Operation = Update },
			[]string{"update churn-0-1", "update churn-2-1"},
			map[string]int{"update-latency-mean": 1, "ready-mean": 1, "create-latency-mean": 0},
			[]string{"churn-0-1", "churn-1-1", "churn-2-1", "churn-3-1"}},
		{"scale", func(c *Config) { c.Operation = scale },
			[]string{"update churn-0-1", "update churn-2-1", "update churn-0-1", "update churn-2-1"},
			map[string]int{"update-latency-mean": 1, "ready-mean": 1},
			[]string{"churn-0-1", "churn-1-1", "churn-2-1", "churn-3-1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t)
			c := config(4, deploymentTemplate)
			c.Churn = factor.Of(quantity.Percent(0.5))
			test.change(c)
			result, raw, err := trial(t, s, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := rows(t, raw); !slices.Equal(got, test.requests) {
				t.Errorf("requests %q, want %q", got, test.requests)
			}
			if got := slices.Sorted(maps.Keys(s.objects[deployments])); !slices.Equal(got, test.left) {
				t.Errorf("left %q, want %q", got, test.left)
			}
			for name, n := range test.verbs {
				if _, ok := result.Values[name]; ok != (n > 0) {
					t.Errorf("values %v: %s is there: %v", result.Values, name, ok)
				}
			}
			if result.Failed != 0 {
				t.Errorf("%v failed", result.Failed)
			}
		})
	}
}

func TestWhatChurnChanges(t *testing.T) {
	s := serve(t)
	c := config(2, deploymentTemplate)
	c.Churn, c.Operation = factor.Of(quantity.Percent(0.5)), Update
	if _, _, err := trial(t, s, c); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"churn-0-1": "r2", "churn-1-1": "r1"} {
		if got := s.objects[deployments][name]["metadata"].(object)["annotations"].(object)["revision"]; got != want {
			t.Errorf("%s has the revision %v, want %s", name, got, want)
		}
	}
	var sizes []any
	s = serve(t)
	s.becomes = func(o object) {
		ready(o)
		sizes = append(sizes, o["spec"].(object)["replicas"])
	}
	c.Operation = scale
	if _, _, err := trial(t, s, c); err != nil {
		t.Fatal(err)
	}
	if want := []any{3.0, 3.0, 0.0, 3.0}; !slices.Equal(sizes, want) {
		t.Errorf("replicas %v, want %v", sizes, want)
	}
}

func TestFixedObjectsAreNotMeasured(t *testing.T) {
	s := serve(t)
	c := config(3, podTemplate, serviceTemplate)
	c.Templates[1].Fixed = 4
	result, raw, err := trial(t, s, c)
	if err != nil {
		t.Fatal(err)
	}
	if s.count(pods) != 3 || s.count(services) != 4 || result.Work != 3 || len(rows(t, raw)) != 3 {
		t.Errorf("%d pods, %d services, %v requests measured", s.count(pods), s.count(services), result.Work)
	}
}

func TestCleanSlate(t *testing.T) {
	s := serve(t)
	c := config(5, podTemplate)
	if _, _, err := trial(t, s, c); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // an object of another arm, and one without an owner
	for name, arm := range map[string]string{"other": "other-arm", "foreign": ""} {
		labels := object{}
		if arm != "" {
			labels = object{"tare/owner": "me", "tare/arm": arm, "tare/role": "churn"}
		}
		s.change("ADDED", pods, name, object{"kind": "Pod", "metadata": object{"name": name, "uid": name, "labels": labels}})
	}
	s.mu.Unlock()
	c.Objects = factor.Of(2)
	if _, _, err := trial(t, s, c); err != nil {
		t.Fatalf("a second trial: %v", err)
	}
	if got := slices.Sorted(maps.Keys(s.objects[pods])); !slices.Equal(got, []string{"churn-0-1", "churn-1-1", "foreign", "other"}) {
		t.Errorf("pods %q after the second trial", got)
	}
	if err := inPlace(t, s, c).clean(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(s.objects[pods])); !slices.Equal(got, []string{"foreign", "other"}) {
		t.Errorf("pods %q after clearing up", got)
	}
}

// TestNothingIsMadeWhileTheClusterSettles checks that there is a pause between the last deletion, which may be
// another arm's, and the first object.
func TestNothingIsMadeWhileTheClusterSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, churned := range []quantity.Percent{0, 0.5} {
			s := serve(t)
			c := config(2, podTemplate)
			c.Churn = factor.Of(churned)
			if _, _, err := trial(t, s, c); err != nil {
				t.Fatal(err)
			}
			c.Settle = quantity.Duration(150 * time.Millisecond)
			var deleted, made time.Time
			s.admit = func(method, _ string, _ int) int {
				switch {
				case method == http.MethodDelete && made.IsZero():
					deleted = time.Now()
				case method == http.MethodPost && made.IsZero():
					made = time.Now()
				}
				return 0
			}
			if _, _, err := trial(t, s, c); err != nil {
				t.Fatal(err)
			}
			if between := made.Sub(deleted); deleted.IsZero() || between < c.Settle.Std() {
				t.Errorf("with %v churn the first object is made %v after the last was deleted, before the cluster has settled", churned, between)
			}
		}
	})
}

// TestDependentsAreWaitedFor checks that an object is kept until its dependents are gone. Pods are not kept, since
// they have no dependents.
func TestDependentsAreWaitedFor(t *testing.T) {
	for template, want := range map[string]string{podTemplate: "Background", deploymentTemplate: "Foreground"} {
		s := serve(t)
		c := config(1, template)
		if _, _, err := trial(t, s, c); err != nil {
			t.Fatal(err)
		}
		if err := inPlace(t, s, c).clean(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.deletes, []string{want}) {
			t.Errorf("deletions %v, want %s", s.deletes, want)
		}
	}
}

func TestWhatCannotBeDeletedBreaksARule(t *testing.T) {
	s := serve(t)
	c := config(2, podTemplate)
	if _, _, err := trial(t, s, c); err != nil {
		t.Fatal(err)
	}
	s.admit = func(method, _ string, _ int) int {
		if method == http.MethodDelete {
			return http.StatusTooManyRequests
		}
		return 0
	}
	p := inPlace(t, s, c)
	err := p.clean(t.Context(), 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), `pods in namespace arm: 2 objects or more, such as "churn-0-1", still there after 50ms`) {
		t.Errorf("error %v", err)
	}
	s.admit = func(string, string, int) int { return http.StatusForbidden }
	_, _, err = trial(t, s, c)
	invalid(t, err, workload.RuleTimeout, "what an earlier trial made: delete pods in namespace arm: 403 Forbidden: refused by the test")
}

// invalid fails the test unless the trial broke this rule.
func invalid(t *testing.T, err error, rule, detail string) {
	t.Helper()
	var broken *workload.Invalid
	if !errors.As(err, &broken) || broken.Rule != rule || !strings.Contains(broken.Detail, detail) {
		t.Errorf("error %v, want the rule %s with %q", err, rule, detail)
	}
}

func TestRefusals(t *testing.T) {
	t.Run("too many requests are repeated and counted", func(t *testing.T) {
		s := serve(t)
		s.admit = func(_, _ string, n int) int {
			if n <= 3 {
				return http.StatusTooManyRequests
			}
			return 0
		}
		result, _, err := trial(t, s, config(4, podTemplate))
		if err != nil || result.Values["throttled"] != 3 || result.Failed != 0 || s.count(pods) != 4 {
			t.Errorf("result %+v, %v", result, err)
		}
	})
	t.Run("lists are put off", func(t *testing.T) {
		s := serve(t)
		s.busy.Store(2)
		if result, _, err := trial(t, s, config(4, podTemplate)); err != nil || result.Failed != 0 {
			t.Errorf("result %+v, %v", result, err)
		}
	})
	t.Run("a refusal is a failed operation", func(t *testing.T) {
		s := serve(t)
		s.admit = func(_, _ string, n int) int {
			if n == 2 {
				return http.StatusForbidden
			}
			return 0
		}
		result, raw, err := trial(t, s, config(4, podTemplate))
		if err != nil || result.Failed != 0.25 || result.Work != 3 {
			t.Errorf("result %+v, %v", result, err)
		}
		failed := 0
		for _, row := range rows(t, raw) {
			if strings.HasSuffix(row, "403 Forbidden: refused by the test") {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d requests have the refusal beside them, want 1", failed)
		}
	})
	t.Run("all refused", func(t *testing.T) {
		s := serve(t)
		s.admit = func(string, string, int) int { return http.StatusForbidden }
		_, raw, err := trial(t, s, config(4, podTemplate))
		invalid(t, err, workload.RuleErrors, "no request of 4 succeeded: 403 Forbidden: refused by the test")
		if raw.Texts()["summary.json"] == "" {
			t.Error("nothing is kept of a trial that failed")
		}
	})
	t.Run("before the measurement", func(t *testing.T) {
		s := serve(t)
		s.admit = func(string, string, int) int { return http.StatusForbidden }
		c := config(4, podTemplate)
		c.Churn = factor.Of(quantity.Percent(1))
		_, _, err := trial(t, s, c)
		invalid(t, err, workload.RuleErrors, "could not be made before the measurement: 403 Forbidden")
	})
}

func TestNeverReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.becomes = func(o object) {
			if o["metadata"].(object)["name"] != "churn-1-1" {
				ready(o)
			}
		}
		c := config(4, podTemplate)
		c.Ready = quantity.Duration(200 * time.Millisecond)
		result, raw, err := trial(t, s, c)
		if err != nil || result.Failed != 0.25 {
			t.Errorf("result %+v, %v", result, err)
		}
		var summary map[string]any
		if raw.JSON(t, "summary.json", &summary); summary["neverReady"] != 1.0 {
			t.Errorf("summary %v (%v)", summary, err)
		}
		s.becomes = func(object) {}
		_, _, err = trial(t, s, c)
		invalid(t, err, workload.RuleTimeout, "no object was ready 200ms after the last request")
		c.Churn = factor.Of(quantity.Percent(1))
		_, _, err = trial(t, s, c)
		invalid(t, err, workload.RuleTimeout, "4 of 4 objects made before the measurement were not ready after 400ms")
	})
}

// TestWhatWasReadyBeforeAnUpdate uses objects that are ready when they are made, and whose controller does not react
// to updates.
func TestWhatWasReadyBeforeAnUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for ready, status := range map[Condition]object{
			{how: field, name: "phase", value: "Active"}: {"phase": "Active"},
			{how: condition, name: "Ready"}:              {"conditions": []any{object{"type": "Ready", "status": "True"}}},
		} {
			s := serve(t)
			s.becomes = func(o object) {
				if o["status"] == nil {
					o["status"] = copied(status)
				}
			}
			c := config(2, revisedTemplate)
			c.Templates[0].Ready = ready
			c.Churn, c.Operation = factor.Of(quantity.Percent(1)), Update
			c.Ready = quantity.Duration(200 * time.Millisecond)
			_, _, err := trial(t, s, c)
			want := "templates[0]: the status of apps/v1 Deployment has no observedGeneration, so that after an update " + ready.String() + " may still describe the state before it"
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}

			status["observedGeneration"] = 1
			_, _, err = trial(t, s, c)
			invalid(t, err, workload.RuleTimeout, "no object was ready 200ms after the last request")

			s.becomes = func(o object) { // the controller reacts now
				o["status"] = copied(status)
				o["status"].(object)["observedGeneration"] = o["metadata"].(object)["generation"]
			}
			result, _, err := trial(t, s, c)
			if err != nil || result.Failed != 0 {
				t.Errorf("%v: result %+v, %v", ready, result, err)
			}
		}
	})
}

func TestDeletedBeforeItWasReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.becomes = func(o object) {
			if o["metadata"].(object)["name"] == "churn-1-1" { // the pod is evicted
				go s.evict(pods, "churn-1-1")
				return
			}
			ready(o)
		}
		result, _, err := trial(t, s, config(4, podTemplate)) // the trial would otherwise wait for a minute
		if err != nil || result.Failed != 0.25 {
			t.Errorf("result %+v, %v", result, err)
		}
	})
}

func (s *apiServer) evict(path, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.change("DELETED", path, name, s.objects[path][name])
}

// TestLatencyCountsFromTheIntendedTime has one worker, so that each request waits for the requests before it.
func TestLatencyCountsFromTheIntendedTime(t *testing.T) {
	s := serve(t)
	const each = 10 * time.Millisecond
	s.admit = func(string, string, int) int { time.Sleep(each); return 0 }
	c := config(10, podTemplate)
	c.Concurrency = 1
	result, _, err := trial(t, s, c)
	if err != nil {
		t.Fatal(err)
	}
	// The i-th request is due after i ms and has its response after 10(i+1) ms at the earliest: on average 50.5 ms
	// later, though each request takes little more than 10 ms.
	if mean := result.Values["create-latency-mean"]; mean < 0.050 {
		t.Errorf("mean latency %v s", mean)
	}
	c.Late = quantity.Duration(each)
	_, _, err = trial(t, s, c)
	invalid(t, err, workload.RuleLate, "at its 99th percentile, over the limit of 10ms")
	c.Late, c.Shortfall = quantity.Duration(time.Minute), 0.05
	_, _, err = trial(t, s, c)
	invalid(t, err, workload.RuleRate, "of 1000.0 requests per second reached, less than 5% allows (0 answers of 429, 0 failures)")
}

func TestKindsThatAreRefused(t *testing.T) {
	s := serve(t)
	for text, want := range map[string]string{
		"apiVersion: crd.example/v1\nkind: Wide":  "templates[0]: crd.example/v1 Wide is not namespaced",
		"apiVersion: crd.example/v2\nkind: Wide":  "templates[0]: the cluster has no crd.example/v2 Wide: install its custom resource definition first",
		"apiVersion: crd.example/v1\nkind: Other": "templates[0]: the cluster has no crd.example/v1 Other",
	} {
		c := config(1, text)
		if _, err := c.newTarget(t.Context(), s.cluster(), "arm", armMarks); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

func TestAnAPIServerThatDoesNotAnswer(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	c := config(1, podTemplate)
	c.Request = quantity.Duration(50 * time.Millisecond)
	cluster := &cluster.Cluster{Config: &rest.Config{Host: silent.URL}}
	_, err := c.newTarget(t.Context(), cluster, "arm", armMarks)
	if want := "templates[0]: the API server did not give the resource of v1 Pod within 50ms (requestTimeout)"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestMetricsFollowTheNumbers(t *testing.T) {
	names := func(c *Config) (list []string, headline string) {
		for _, m := range c.measured() {
			list = append(list, m.Name)
			if m.Headline {
				headline += m.Name
				if m.Optional || m.Scale != experiment.Ratio {
					t.Errorf("the headline %s is optional, or has no ratio", m.Name)
				}
			}
		}
		return list, headline
	}
	for n, want := range map[int]string{1: "ready-mean", 199: "ready-mean", 200: "ready-p50", 999: "ready-p50", 1000: "ready-p90", 9999: "ready-p90", 10_000: "ready-p99", 100_000: "ready-p99.9"} {
		if _, got := names(config(n, podTemplate)); got != want {
			t.Errorf("with %d objects the headline is %s, want %s", n, got, want)
		}
	}
	c := config(400, podTemplate)
	c.Churn = factor.Of(quantity.Percent(0.5))
	got, _ := names(c)
	want := []string{"create-latency-mean", "create-latency-p50", "delete-latency-mean", "delete-latency-p50", "ready-mean", "ready-p50", "rate", "ready-rate", "throttled"}
	if !slices.Equal(got, want) {
		t.Errorf("metrics %v, want %v", got, want)
	}
}

// newContext returns a context that can be cancelled.
func newContext(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	return ctx, stop
}

// TestNamesAreOfOneTrial keeps late controllers from acting on another trial's objects.
func TestNamesAreOfOneTrial(t *testing.T) {
	c := config(2, podTemplate, serviceTemplate)
	c.Templates[1].Fixed = 1
	c.Churn = factor.Of[quantity.Percent](1)
	s := serve(t)
	scheduled := func() *schedule {
		p, err := c.newTarget(t.Context(), s.cluster(), "arm", armMarks)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		all, err := p.schedule()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first, second := scheduled(), scheduled()
	seen := map[string]bool{}
	for _, o := range slices.Concat(first.base, first.measured) {
		seen[o.name] = true
		if !regexp.MustCompile(`^churn-[0-9a-f]{6}-(fixed-)?[0-9]-[0-9]$`).MatchString(o.name) {
			t.Errorf("the name %q", o.name)
		}
	}
	for _, o := range slices.Concat(second.base, second.measured) {
		if seen[o.name] {
			t.Errorf("%s is an object of both trials", o.name)
		}
	}
}
