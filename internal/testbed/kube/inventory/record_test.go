package inventory

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/testbed/kube/cluster"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// endedProcess is a holder on this machine that has ended.
func endedProcess(t *testing.T) holder {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	h := thisProcess("")
	h.PID, h.Ticks = cmd.Process.Pid, 1
	return h
}

// elsewhere is a holder that is not visible from this machine.
func elsewhere() holder { return holder{Host: "other\x1b[31m", Boot: "another", PID: 17} }

func TestJudge(t *testing.T) {
	recycled := thisProcess("")
	recycled.Ticks++
	startless, nobody := thisProcess(""), thisProcess("")
	startless.Ticks, nobody.PID = 0, -1
	tests := []struct {
		name   string
		holder holder
		age    time.Duration
		alive  bool
		says   string
	}{
		{"this process", thisProcess(""), time.Hour, true, "last seen 1h ago"},
		{"ended a moment ago", endedProcess(t), time.Second, false, "which has ended"},
		{"its number belongs to another now", recycled, time.Second, false, "which has ended"},
		{"no process", nobody, 59 * time.Second, true, "last seen 59s ago"},
		{"start unknown, heard of", startless, 59 * time.Second, true, "last seen 59s ago"},
		{"start unknown, silent", startless, 61 * time.Second, false, "last seen 1m1s ago"},
		{"elsewhere, heard of", elsewhere(), 59 * time.Second, true, "process 17 on other, last seen 59s ago"},
		{"elsewhere, silent", elsewhere(), 61 * time.Second, false, "last seen 1m1s ago"},
		{"clocks that differ", elsewhere(), -time.Hour, true, "last seen 0s ago"},
	}
	judge := func(name string, h holder, age time.Duration, alive bool, says string) {
		t.Helper()
		var l Leftover
		if l.setHolder(h, age); l.Alive != alive || !strings.HasSuffix(l.Holder, says) {
			t.Errorf("%s: alive %v, %q; want %v, %q", name, l.Alive, l.Holder, alive, says)
		}
	}
	for _, tt := range tests {
		judge(tt.name, tt.holder, tt.age, tt.alive, tt.says)
	}
	gone := endedProcess(t)
	defer func(was func(int) (uint64, error)) { startTicks = was }(startTicks)
	startTicks = func(int) (uint64, error) { return 0, os.ErrNotExist }
	judge("hidden, heard of", thisProcess(""), 59*time.Second, true, "last seen 59s ago")
	judge("hidden, silent", thisProcess(""), 61*time.Second, false, "last seen 1m1s ago")
	judge("hidden, ended", gone, time.Second, false, "which has ended")
}

// recordOf is a record in a run's form.
func recordOf(t *testing.T, owner, namespace string, h holder, renewed time.Time, items ...Item) *corev1.ConfigMap {
	t.Helper()
	inventory, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "tare-" + owner, Namespace: namespace, Labels: map[string]string{ManagedBy: "tare", OwnerLabel: owner, recordLabel: recordVersion}},
		Data:       map[string]string{keyHolder: h.String(), keyRenewed: renewed.Format(time.RFC3339), keyInventory: string(inventory)},
	}
}

// owned is the metadata of an object with an owner.
func owned(owner, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{ManagedBy: "tare", OwnerLabel: owner}}
}

// serve makes the fake API server know the kinds that the tests use.
func serve(c *fake.Clientset) {
	c.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "namespaces"}, {Name: "persistentvolumes"}, {Name: "pods", Namespaced: true}, {Name: "services", Namespaced: true}, {Name: "configmaps", Namespaced: true},
	}}}
}

// Clean removes only objects that a record lists, that have the label of its owner, and whose holder is gone.
func TestRemoveAll(t *testing.T) {
	dead := recordOf(t, "dead", "given", elsewhere(), time.Now().Add(-time.Hour),
		Core("pods", "given", "client"),
		Core("pods", "given", "foreign"),
		Core("pods", "given", "gone"),
		Item{Group: "gone.example", Version: "v1", Resource: "things", Namespace: "given", Name: "one"}, // of a kind that is gone
		Item{Version: "v1", Resource: "services", Namespace: "given"},
		Namespace("tare-dead"), Namespace("kube-system"))
	living := recordOf(t, "living", "given", elsewhere(), time.Now(), Namespace("tare-living"))
	half := &corev1.Namespace{ObjectMeta: owned("half", "", "tare-half")}
	half.Annotations = map[string]string{holderAnnotation: endedProcess(t).String()}
	objects := []runtime.Object{
		dead, living, half,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "given"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
		&corev1.Namespace{ObjectMeta: owned("dead", "", "tare-dead")}, &corev1.Namespace{ObjectMeta: owned("living", "", "tare-living")},
		&corev1.Pod{ObjectMeta: owned("dead", "given", "client")},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Namespace: "given"}},
		&corev1.Pod{ObjectMeta: owned("dead", "given", "unlisted")},
		&corev1.Service{ObjectMeta: owned("dead", "given", "server")}, &corev1.Service{ObjectMeta: owned("living", "given", "server-2")},
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	typed := fake.NewClientset(objects...)
	untyped := dynamicfake.NewSimpleDynamicClient(scheme, objects...)
	// The fake does not support the deletion of collections.
	listed := map[string][]string{OwnerLabel + "=dead": {"server"}}
	untyped.PrependReactor("delete-collection", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		d := a.(clienttesting.DeleteCollectionAction)
		for _, name := range listed[d.GetListRestrictions().Labels.String()] {
			if err := untyped.Tracker().Delete(d.GetResource(), d.GetNamespace(), name); err != nil {
				return true, nil, err
			}
		}
		return true, nil, nil
	})
	serve(typed)
	c := &cluster.Cluster{Context: "test", Client: typed, Dynamic: untyped, Config: &rest.Config{Host: "127.0.0.1:1"}}
	found, err := findLeftovers(t.Context(), c, "")
	if err != nil {
		t.Fatal(err)
	}
	alive := map[Owner]bool{}
	for _, l := range found {
		alive[l.Owner] = l.Alive
		if l.Alive {
			continue
		}
		r := &remover{Cluster: c, owner: l.Owner, limit: time.Second}
		if err := r.removeAll(t.Context(), l.items, l.record); err != nil {
			t.Fatal(err)
		}
	}
	if len(alive) != 3 || alive["dead"] || alive["half"] || !alive["living"] {
		t.Errorf("alive: %v", alive)
	}
	var names []string
	for _, resource := range []string{"namespaces", "configmaps", "pods", "services"} {
		list, err := untyped.Resource(corev1.SchemeGroupVersion.WithResource(resource)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			names = append(names, resource+"/"+o.GetName())
		}
	}
	const want = "namespaces/given namespaces/kube-system namespaces/tare-living configmaps/tare-living pods/foreign pods/unlisted services/server-2"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("what is there afterwards:\n%s\nwant:\n%s", got, want)
	}
}

func FuzzReadRecord(f *testing.F) {
	h := thisProcess("runs/x").String()
	const renewed = "2026-11-22T02:03:04Z"
	f.Add(recordVersion, h, renewed, `[{"version":"v1","resource":"pods","namespace":"a","name":"b"}]`)
	f.Add(recordVersion, h, renewed, `[{"group":"apps","version":"v1","resource":"deployments","namespace":"a"},{"group":"rbac.authorization.k8s.io","version":"v1","resource":"clusterroles","name":"tare:x"}]`)
	f.Add(recordVersion, h, renewed, `[{"version":"v1","resource":"services/https:kubernetes:443/proxy","namespace":"default","name":"x"}]`)
	f.Add(recordVersion, h, renewed, `[{"group":"..","version":"..","resource":"..","namespace":"..","name":".."}]`)
	f.Add("v2", "{", "yesterday", "null")
	f.Fuzz(func(t *testing.T, version, holder, renewed, inventory string) {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{recordLabel: version}}, Data: map[string]string{keyHolder: holder, keyRenewed: renewed, keyInventory: inventory}}
		h, _, items, err := readRecord(c)
		if err != nil {
			return
		}
		if again, err := readHolder(h.String()); err != nil || again.PID != h.PID || again.Host != h.Host {
			t.Errorf("holder %+v is written as %s", h, h)
		}
		if len(items) > maxItems {
			t.Errorf("%d items", len(items))
		}
		for _, i := range items {
			checkPath(t, i)
		}
	})
}

// checkPath fails if the request for an item goes to anything but objects of the item's kind.
func checkPath(t *testing.T, i Item) {
	t.Helper()
	var asked *url.URL
	config := &rest.Config{Host: "http://tare.invalid", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL
		return nil, errors.New("not sent")
	})}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	want := "/apis/" + i.Group + "/" + i.Version
	if i.Group == "" {
		want = "/api/" + i.Version
	}
	if i.Namespace != "" {
		want += "/namespaces/" + i.Namespace
	}
	want += "/" + i.Resource
	at := untyped.Resource(i.gvr()).Namespace(i.Namespace)
	if i.Name == "" {
		_, err = at.List(t.Context(), metav1.ListOptions{})
	} else {
		want += "/" + i.Name
		_, err = at.Get(t.Context(), i.Name, metav1.GetOptions{})
	}
	if asked == nil {
		t.Fatalf("%+v: no request: %v", i, err)
	}
	segments := strings.Split(strings.TrimPrefix(asked.EscapedPath(), "/"), "/")
	if asked.Path != want || len(segments) != strings.Count(want, "/") || slices.Contains(segments, "..") || slices.Contains(segments, ".") || slices.Contains(segments, "") || asked.Fragment != "" {
		t.Errorf("%+v asks for %s, want %s", i, asked, want)
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestReadItems(t *testing.T) {
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"version":"v1","resource":"pods","namespace":"a","name":"b"},`, maxItems+1), ",") + "]"
	tests := []struct{ name, text, want string }{
		{"an object", `[{"version":"v1","resource":"pods","namespace":"a","name":"b"}]`, ""},
		{"a role", `[{"group":"rbac.authorization.k8s.io","version":"v1","resource":"clusterroles","name":"tare:x"}]`, ""},
		{"a kind", `[{"version":"v1","resource":"pods","namespace":"a"}]`, ""},
		{"a proxy", `[{"version":"v1","resource":"services/https:kubernetes:443/proxy","namespace":"default","name":"x"}]`, "which is no object: resource: a lowercase RFC 1123 label"},
		{"upwards", `[{"version":"v1","resource":"pods","namespace":"a","name":".."}]`, "which is no object: name: may not be '..'"},
		{"a subresource", `[{"version":"v1","resource":"pods","namespace":"a","name":"b/eviction"}]`, "which is no object: name: may not contain '/'"},
		{"a namespace upwards", `[{"version":"v1","resource":"pods","namespace":"..","name":"b"}]`, "which is no object: namespace: "},
		{"a group upwards", `[{"group":"../v1","version":"v1","resource":"pods","namespace":"a","name":"b"}]`, "which is no object: group: "},
		{"a version upwards", `[{"version":"..","resource":"pods","namespace":"a","name":"b"}]`, "which is no object: version: "},
		{"everything", `[{"version":"v1","resource":"namespaces"}]`, "which is no object: neither a name nor a namespace"},
		{"a long name", `[{"version":"v1","resource":"namespaces","name":"` + strings.Repeat("a", 254) + `"}]`, "which is no object: name: longer than a name can be"},
		{"too many", many, "its inventory lists 1001 things, more than the 1000 of a run"},
		{"no list", `{}`, "its inventory: json: cannot unmarshal object"},
	}
	for _, tt := range tests {
		items, err := readItems(tt.text)
		if tt.want == "" && (err != nil || len(items) != 1) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, %v; want %q", tt.name, items, err, tt.want)
		}
	}
}

func TestThisProcess(t *testing.T) {
	h := thisProcess("runs/x")
	if h.PID != os.Getpid() || h.Ticks == 0 || h.state() != living || h.Run != "runs/x" {
		t.Errorf("this process is %+v, state %v", h, h.state())
	}
}
