package kube

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// elsewhere is a holder that cannot be seen from here.
func elsewhere() holder { return holder{Host: "other\x1b[31m", Boot: "another", PID: 17} }

func TestJudge(t *testing.T) {
	recycled := thisProcess("")
	recycled.Ticks++
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
		{"elsewhere, heard of", elsewhere(), 59 * time.Second, true, `process 17 on other\u001b[31m, last seen 59s ago`},
		{"elsewhere, silent", elsewhere(), 61 * time.Second, false, "last seen 1m1s ago"},
		{"clocks that differ", elsewhere(), -time.Hour, true, "last seen 0s ago"},
	}
	for _, tt := range tests {
		var l Leftover
		if l.judge(tt.holder, tt.age); l.Alive != tt.alive || !strings.HasSuffix(l.Holder, tt.says) {
			t.Errorf("%s: alive %v, %q; want %v, %q", tt.name, l.Alive, l.Holder, tt.alive, tt.says)
		}
	}
}

// recordOf is a record as a run writes it.
func recordOf(t *testing.T, owner, namespace string, h holder, renewed time.Time, items ...item) *corev1.ConfigMap {
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

// owned is an object's metadata.
func owned(owner, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{ManagedBy: "tare", OwnerLabel: owner}}
}

// What is cleaned is what a record lists and what carries its owner's label, of
// holders that are gone; nothing else, whatever a record says.
func TestRemoveRun(t *testing.T) {
	dead := recordOf(t, "dead", "given", elsewhere(), time.Now().Add(-time.Hour),
		coreItem("pods", "given", "client"),
		coreItem("pods", "given", "foreign"),
		coreItem("pods", "given", "gone"),
		item{Version: "v1", Resource: "services", Namespace: "given"},
		namespaceItem("tare-dead"), namespaceItem("kube-system"))
	living := recordOf(t, "living", "given", elsewhere(), time.Now(), namespaceItem("tare-living"))
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
	// The fake knows no deletion of collections.
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
	c := &Cluster{Context: "test", Client: typed, Dynamic: untyped, Config: &rest.Config{Host: "127.0.0.1:1"}}
	found, err := c.left(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	alive := map[string]bool{}
	for _, l := range found {
		alive[l.Owner] = l.Alive
		if l.Alive {
			continue
		}
		r := &remover{Cluster: c, owner: l.Owner, limit: time.Second, say: func(string) {}}
		if err := r.removeRun(t.Context(), l.items, l.record); err != nil {
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
	f.Add(recordVersion, h, "2026-11-22T02:03:04Z", `[{"version":"v1","resource":"pods","namespace":"a","name":"b"}]`)
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
		for _, i := range items {
			_ = i.String()
		}
	})
}

func TestThisProcess(t *testing.T) {
	h := thisProcess("runs/x")
	if h.PID != os.Getpid() || h.Ticks == 0 || !h.here() || h.dead() || h.Run != "runs/x" {
		t.Errorf("this process is %+v, here %v, dead %v", h, h.here(), h.dead())
	}
}
