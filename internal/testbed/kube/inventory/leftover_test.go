package inventory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testbed/kube/cluster"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

// fakeCluster has objects, and an API server that does not report its time.
func fakeCluster(t *testing.T, objects ...runtime.Object) *cluster.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed := fake.NewClientset(objects...)
	serve(typed)
	return &cluster.Cluster{Context: "test", Client: typed, Dynamic: dynamicfake.NewSimpleDynamicClient(scheme, objects...), Config: &rest.Config{Host: "127.0.0.1:1"}}
}

// remaining lists the existing objects: "namespaces/a pods/b/c".
func remaining(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	var names []string
	for _, resource := range []string{"namespaces", "persistentvolumes", "configmaps", "pods"} {
		list, err := c.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			names = append(names, strings.Join(slices.DeleteFunc([]string{resource, o.GetNamespace(), o.GetName()}, func(s string) bool { return s == "" }), "/"))
		}
	}
	return strings.Join(names, " ")
}

// A record can cause the deletion only of objects of dead runs. Outside of its own namespace, these objects must be
// in a namespace that the run has made.
func TestCleanTrust(t *testing.T) {
	long, now := time.Now().Add(-time.Hour), time.Now()
	own := func(owner string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: owned(owner, "", "tare-"+owner)}
	}
	plain := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	pod := func(owner, namespace string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: owned(owner, namespace, "client")}
	}
	forged := recordOf(t, "run", "mine", elsewhere(), long, Namespace("tare-run"), Core("pods", "given", "client"), Core("pods", "mine", "client"))
	malformed := func(owner, namespace string) *corev1.ConfigMap {
		c := recordOf(t, owner, namespace, elsewhere(), long)
		c.Data[keyInventory] = "{"
		return c
	}
	misnamed := recordOf(t, "run", "mine", elsewhere(), long, Core("pods", "mine", "client"))
	misnamed.Name = "tare-other"
	fresh := own("run")
	fresh.CreationTimestamp, fresh.Annotations = metav1.NewTime(now), map[string]string{holderAnnotation: elsewhere().String()}
	tests := []struct {
		name    string
		look    string // a single namespace
		objects []runtime.Object
		want    string // the remaining objects
		errs    []string
	}{
		{"a stale copy of a living run's record", "",
			[]runtime.Object{own("run"), plain("mine"), forged, recordOf(t, "run", "tare-run", elsewhere(), now, Namespace("tare-run")), pod("run", "tare-run")},
			"namespaces/mine namespaces/tare-run configmaps/mine/tare-run configmaps/tare-run/tare-run pods/tare-run/client", nil},
		{"the same, looked for where the copy is", "mine",
			[]runtime.Object{own("run"), plain("mine"), forged, recordOf(t, "run", "tare-run", elsewhere(), now, Namespace("tare-run")), pod("run", "tare-run")},
			"namespaces/mine namespaces/tare-run configmaps/mine/tare-run configmaps/tare-run/tare-run pods/tare-run/client",
			[]string{"leftovers of run run: its record is in namespace mine, which is not Tare's, so objects in other namespaces are left: namespaces/tare-run; delete them with kubectl"}},
		{"the same of a run in a namespace that is given", "",
			[]runtime.Object{plain("given"), plain("mine"), forged, recordOf(t, "run", "given", elsewhere(), now, Core("pods", "given", "client")), pod("run", "given")},
			"namespaces/given namespaces/mine configmaps/given/tare-run configmaps/mine/tare-run pods/given/client", nil},
		{"a copy beside a namespace that was just made", "",
			[]runtime.Object{fresh, plain("mine"), forged},
			"namespaces/mine namespaces/tare-run configmaps/mine/tare-run", nil},
		{"both stale", "",
			[]runtime.Object{own("run"), plain("mine"), plain("given"), forged, recordOf(t, "run", "tare-run", elsewhere(), long, Namespace("tare-run")), pod("run", "given"), pod("run", "mine")},
			"namespaces/given namespaces/mine configmaps/mine/tare-run configmaps/tare-run/tare-run pods/given/client pods/mine/client",
			[]string{"ConfigMap mine/tare-run is left: run run has a record in a namespace of its own"}},
		{"a record in a namespace that is given", "",
			[]runtime.Object{plain("given"), recordOf(t, "run", "given", elsewhere(), long, Core("pods", "given", "client"), Core("persistentvolumes", "", "disk")),
				pod("run", "given"), &corev1.PersistentVolume{ObjectMeta: owned("run", "", "disk")}},
			"namespaces/given persistentvolumes/disk configmaps/given/tare-run", []string{"objects in other namespaces are left: persistentvolumes/disk"}},
		{"the same when nothing is elsewhere any more", "",
			[]runtime.Object{plain("given"), recordOf(t, "run", "given", elsewhere(), long, Core("pods", "given", "client"), Core("persistentvolumes", "", "disk")), pod("run", "given")},
			"namespaces/given", nil},
		{"a malformed one beside a good one", "",
			[]runtime.Object{plain("given"), malformed("another", "given"), recordOf(t, "run", "given", elsewhere(), long, Core("pods", "given", "client")), pod("run", "given"), own("another")},
			"namespaces/given namespaces/tare-another configmaps/given/tare-another",
			[]string{"ConfigMap given/tare-another, so objects of run another are left: its inventory: unexpected end of JSON input"}},
		{"a malformed one of the same run", "",
			[]runtime.Object{own("run"), plain("mine"), malformed("run", "mine"), recordOf(t, "run", "tare-run", elsewhere(), long, Namespace("tare-run"))},
			"namespaces/mine namespaces/tare-run configmaps/mine/tare-run configmaps/tare-run/tare-run", []string{"ConfigMap mine/tare-run, so objects of run run are left"}},
		{"no record at all by its name", "",
			[]runtime.Object{plain("mine"), misnamed, own("run"), pod("run", "mine")},
			"namespaces/mine configmaps/mine/tare-other pods/mine/client", []string{`ConfigMap mine/tare-other looks like a record of Tare's, and is none: its owner is "run"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fakeCluster(t, tt.objects...)
			_, err := clean(t.Context(), c, tt.look)
			if len(tt.errs) == 0 && err != nil {
				t.Error(err)
			}
			for _, want := range tt.errs {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
			got := remaining(t, c) // the fake does not delete a namespace's objects with the namespace
			if got != tt.want {
				t.Errorf("what is there afterwards:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// recordOn is the record of a session on a fake cluster.
func recordOn(t *testing.T, run string, c *cluster.Cluster) *Record {
	t.Helper()
	session, err := NewSession(run)
	if err != nil {
		t.Fatal(err)
	}
	return NewRecord(c, session, cleanTimeouts)
}

// A run whose record is gone gets an error before it makes any object.
func TestCleanedAway(t *testing.T) {
	c := fakeCluster(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "given"}})
	r := recordOn(t, "", c)
	if err := r.Begin(t.Context(), "given"); err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	if err := r.Add(t.Context(), Core("pods", "given", "client")); err != nil {
		t.Fatal(err)
	}
	if err := c.Client.CoreV1().ConfigMaps("given").Delete(t.Context(), r.owner.record(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Present(); err != nil {
		t.Errorf("before anyone has asked: %v", err)
	}
	if err := r.Add(t.Context(), Core("pods", "given", "client")); !errors.Is(err, ErrCleaned) || !strings.Contains(err.Error(), "this run was cleaned away by tare clean") {
		t.Errorf("add: %v", err)
	}
	if err := r.Present(); !errors.Is(err, ErrCleaned) {
		t.Errorf("present: %v", err)
	}
}

func TestInventoryLimit(t *testing.T) {
	r := recordOn(t, "", fakeCluster(t))
	var items []Item
	for i := range maxItems + 1 {
		items = append(items, Core("pods", "a", strings.Repeat("b", i+1)))
	}
	if err := r.Add(t.Context(), items[:maxItems]...); err != nil {
		t.Fatal(err)
	}
	err := r.Add(t.Context(), items[maxItems])
	if err == nil || !strings.Contains(err.Error(), "a run may have at most 1000 objects") || len(r.items) != maxItems {
		t.Errorf("%v, %d items", err, len(r.items))
	}
}

// A resumed run removes the leftovers of its earlier sessions, even if the run directory has another name. Objects of
// sessions that may be alive stay, and are named.
func TestRemoveSessions(t *testing.T) {
	dir := t.TempDir()
	id, err := runID(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := runID(dir); err != nil || again != id {
		t.Errorf("the id is %s, then %s, %v", id, again, err)
	}
	if other, err := runID(t.TempDir()); err != nil || other == id {
		t.Errorf("another run has the id %s, %v", other, err)
	}
	ofRun := func(h holder) holder { h.ID, h.Run = id, "/elsewhere"; return h }
	same := elsewhere() // a container of the same name, with another run at the same path
	same.Run, same.ID = dir, "another"
	c := fakeCluster(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "given"}},
		recordOf(t, "silent", "given", ofRun(elsewhere()), time.Now().Add(-time.Hour), Core("pods", "given", "silent")), &corev1.Pod{ObjectMeta: owned("silent", "given", "silent")},
		recordOf(t, "foreign", "given", same, time.Now().Add(-time.Hour), Core("pods", "given", "foreign")), &corev1.Pod{ObjectMeta: owned("foreign", "given", "foreign")},
		recordOf(t, "heard", "given", ofRun(elsewhere()), time.Now(), Core("pods", "given", "heard")), &corev1.Pod{ObjectMeta: owned("heard", "given", "heard")},
	)
	var said []string
	c.Progress = func(line string) { said = append(said, line) }
	r := recordOn(t, dir, c)
	err = r.removeSessions(t.Context(), "given", 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "objects with the label tare/owner=heard stay, because their holder seems to be at work: process 17 on other") {
		t.Errorf("got %v", err)
	}
	if lines := strings.Join(said, "\n"); strings.Count(lines, "waiting up to 50ms until the record of an earlier session of this run is stale: heard of process 17") != 1 {
		t.Errorf("said: %s", lines)
	}
	const want = "namespaces/given configmaps/given/tare-foreign configmaps/given/tare-heard pods/given/foreign pods/given/heard"
	if got := remaining(t, c); got != want {
		t.Errorf("what is there afterwards:\n%s\nwant:\n%s", got, want)
	}
	dead := recordOf(t, "heard", "given", ofRun(endedProcess(t)), time.Now(), Core("pods", "given", "heard"))
	if _, err := c.Client.CoreV1().ConfigMaps("given").Update(t.Context(), dead, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.removeSessions(t.Context(), "given", time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, c); strings.Contains(got, "heard") {
		t.Errorf("after its holder had ended there is %s", got)
	}
}

func TestRunIDTorn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, idFile), []byte("0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := runID(dir)
	if err != nil || len(id) != 32 {
		t.Errorf("a torn id becomes %q, %v", id, err)
	}
	if again, err := runID(dir); err != nil || again != id {
		t.Errorf("then %q, %v", again, err)
	}
}
