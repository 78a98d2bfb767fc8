package accounting

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"tare/internal/testbed"
	"tare/internal/testbed/kube/agent"
	"tare/internal/testbed/kube/agent/cgroup"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/pods"
)

// podAt is the usage of a pod's cgroups: CPU time in seconds, of which a tenth is in the kernel, and containers.
func podAt(cpu float64, within ...cgroup.Usage) cgroup.Usage {
	return cgroup.Usage{Pod: "c", CPU: seconds(cpu), System: seconds(cpu / 10), WorkingSet: 1000, Containers: within}
}

func containerAt(id string, cpu float64) cgroup.Usage {
	return cgroup.Usage{ID: id, CPU: seconds(cpu), System: seconds(cpu / 10), WorkingSet: 100}
}

// sidecarIDs are the sidecars of the tests, by id.
var sidecarIDs = map[string]string{"p": "istio-proxy", "l": "logger"}

func TestMeter(t *testing.T) {
	enter := func(names ...string) func(*meter, map[string]*testbed.Usage) {
		return func(m *meter, all map[string]*testbed.Usage) {
			for _, name := range names {
				all[name] = &testbed.Usage{}
				m.running = append(m.running, all[name])
			}
		}
	}
	leave := func(name string) func(*meter, map[string]*testbed.Usage) {
		return func(m *meter, all map[string]*testbed.Usage) { m.remove(all[name]) }
	}
	type step struct {
		now  cgroup.Usage
		then func(*meter, map[string]*testbed.Usage)
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  map[string]float64 // CPU time in seconds, by program
		err   string             // error of the last step
	}{
		{"one program, alone in its pod", []step{
			{podAt(100), enter("a")}, {podAt(103), leave("a")}, {podAt(109), nil},
		}, map[string]float64{"a": 3}, ""},
		{"a sandbox: what is in no container that has a name counts", []step{
			{podAt(100, containerAt("pause", 50), containerAt("tare", 1)), enter("a")},
			{podAt(110, containerAt("pause", 59), containerAt("tare", 2)), leave("a")},
		}, map[string]float64{"a": 10}, ""},
		{"two sidecars", []step{
			{podAt(100, containerAt("tare", 10), containerAt("p", 20), containerAt("l", 30)), enter("a")},
			{podAt(110, containerAt("tare", 14), containerAt("p", 25), containerAt("l", 31)), leave("a")},
		}, map[string]float64{"a": 4}, ""},
		{"one after the other", []step{
			{podAt(0), enter("a")}, {podAt(3), leave("a")}, {podAt(10), enter("b")}, {podAt(11), leave("b")},
		}, map[string]float64{"a": 3, "b": 1}, ""},
		{"at the same time: shared evenly, all of it and no more", []step{
			{podAt(0), enter("a")}, {podAt(2), enter("b")}, {podAt(8), leave("a")}, {podAt(9), leave("b")},
		}, map[string]float64{"a": 5, "b": 4}, ""},
		{"the files are read one after the other: never negative", []step{
			{podAt(100, containerAt("p", 20)), enter("a")}, {podAt(100.001, containerAt("p", 20.002)), leave("a")},
		}, map[string]float64{"a": 0}, ""},
		{"counters that went back", []step{
			{podAt(100), enter("a")}, {podAt(2), leave("a")},
		}, map[string]float64{"a": 2}, ""},
		{"a sidecar that began in between", []step{
			{podAt(100, containerAt("tare", 10)), enter("a")},
			{podAt(110, containerAt("tare", 17), containerAt("p", 3)), leave("a")},
		}, map[string]float64{"a": 7}, ""},
		{"a sidecar that ended in between", []step{
			{podAt(100, containerAt("p", 10)), enter("a")}, {podAt(110), leave("a")},
		}, nil, "the container istio-proxy ended while a program ran beside it"},
		{"a sidecar that ended between programs", []step{
			{podAt(100, containerAt("p", 10)), enter("a")}, {podAt(105, containerAt("p", 11)), leave("a")}, {podAt(110), enter("b")}, {podAt(111), leave("b")},
		}, map[string]float64{"a": 4, "b": 1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, all := &meter{}, map[string]*testbed.Usage{}
			var err error
			for _, s := range c.steps {
				if err = m.read(s.now, sidecarIDs); err != nil {
					break
				}
				if s.then != nil {
					s.then(m, all)
				}
			}
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range c.want {
				got := *all[name]
				if d := got.CPU() - seconds(want); d < -time.Microsecond || d > time.Microsecond {
					t.Errorf("%s: %+v, want %v s", name, got, want)
				}
				if d := got.System - seconds(want/10); d < -time.Microsecond || d > time.Microsecond {
					t.Errorf("%s: %v in the kernel, want a tenth of %v s", name, got.System, want)
				}
			}
		})
	}
}

func TestOwnMemory(t *testing.T) {
	now := podAt(1, containerAt("tare", 1), containerAt("p", 1), containerAt("l", 1))
	if got := ownMemory(&now, sidecarIDs); got != 800 {
		t.Errorf("%d bytes, want 1000 without the two of 100", got)
	}
}

// The usage of sidecars is listed by their names, for each pod.
func TestSidecarUsage(t *testing.T) {
	client, server := clientAt, serverAt
	client.role, server.role = "client", "server"
	client.sidecars, server.sidecars = map[string]string{"p1": "istio-proxy", "l1": "logger"}, map[string]string{"p2": "istio-proxy"}
	with := func(uid string, within ...cgroup.Usage) cgroup.Usage {
		return cgroup.Usage{Pod: uid, Containers: within}
	}
	b, a := readings(map[string]agent.Counters{
		"n1": at(0, "b1", [4]float64{}, with("c", containerAt("t1", 5), containerAt("p1", 10))),
		"n2": at(0, "b2", [4]float64{}, with("s", containerAt("t2", 5), containerAt("p2", 100))),
	}, map[string]agent.Counters{
		"n1": at(10, "b1", [4]float64{}, with("c", containerAt("t1", 9), containerAt("p1", 12), containerAt("l1", 1))),
		"n2": at(10, "b2", [4]float64{}, with("s", containerAt("t2", 9), containerAt("p2", 103))),
	})
	s := sampledPods{site: []podRef{client, server}, onNode: true}
	want := map[string]testbed.Usage{
		"client-istio-proxy": {User: seconds(1.8), System: seconds(0.2), Wall: seconds(10), MaxRSS: 100},
		"server-istio-proxy": {User: seconds(2.7), System: seconds(0.3), Wall: seconds(10), MaxRSS: 100},
		"client-logger":      {User: seconds(0.9), System: seconds(0.1), Wall: seconds(10), MaxRSS: 100},
	}
	if d := cmp.Diff(want, sample(b, a, s).Sidecars); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	s.onNode = false
	if got := sample(b, a, s).Sidecars; got != nil {
		t.Errorf("from containers alone: %+v", got)
	}
}

func status(name, id string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, ContainerID: id}
}

func TestMeet(t *testing.T) {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "client", Namespace: "ns", UID: types.UID("u")}, Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{status("istio-proxy", "containerd://p"), status("install", "containerd://i")},
		ContainerStatuses:     []corev1.ContainerStatus{status(pods.Container, "containerd://t"), status("waits", ""), status("logger", "cri-o://l")},
	}}
	again := made.DeepCopy()
	again.Status.InitContainerStatuses[0].ContainerID = "containerd://p2"
	client := fake.NewClientset(again)
	p := (&pods.Maker{On: &cluster.Cluster{Client: client}}).New(made)
	m := &meter{}
	if d := cmp.Diff(map[string]string{"p": "istio-proxy", "i": "install", "l": "logger"}, p.Sidecars()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	there := func(ids ...string) (list []cgroup.Usage) {
		for _, id := range ids {
			list = append(list, cgroup.Usage{ID: id})
		}
		return list
	}
	for _, ids := range [][]cgroup.Usage{there("t", "p", "l", "pause"), there("t", "p", "l", "pause")} {
		if err := m.identify(t.Context(), p, ids); err != nil || len(client.Actions()) != 0 {
			t.Fatalf("nothing is new: %v, %d requests", err, len(client.Actions()))
		}
	}
	if err := m.identify(t.Context(), p, there("t", "p2", "l", "pause")); err != nil || len(client.Actions()) != 1 {
		t.Fatalf("a container that was made again: %v, %d requests", err, len(client.Actions()))
	}
	if d := cmp.Diff(map[string]string{"p2": "istio-proxy", "i": "install", "l": "logger"}, p.Sidecars()); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
