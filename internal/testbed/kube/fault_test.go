package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
	"tare/internal/testbed/kube/pods"
)

// alone needs only the client's pod.
var alone = experiment.Needs{Volume: &experiment.Volume{Size: 1 << 20}}

// pair needs two pods.
var pair = experiment.Needs{Network: true}

// If a pod cannot become ready, the error gives the reason, long before the limit.
func TestPodsThatCannotStart(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	tests := []struct {
		name  string
		level func(*experiment.Kubernetes)
		shape func(*corev1.Pod) error
		want  []string
	}{
		{"an image that does not exist", func(k *experiment.Kubernetes) { k.Image = "tare.test/missing:1" }, nil,
			[]string{"container tare cannot start: the image tare.test/missing:1 cannot be pulled", "events:", "Failed"}},
		{"a container that ends", nil, func(p *corev1.Pod) error {
			p.Spec.Containers[0].Command = []string{pods.Program, "such-command"}
			return nil
		}, []string{"has ended", "exit status 1", "last log lines:", `"such-command": the commands are serve, `}},
		{"a secret that is missing", nil, func(p *corev1.Pod) error {
			p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}}}}
			return nil
		}, []string{"CreateContainerConfigError", `secret "missing" not found`}},
		{"Pod Security", nil, func(p *corev1.Pod) error {
			p.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
			return nil
		}, []string{"violates PodSecurity", "allowPrivilegeEscalation != false"}},
		{"a priority class that does not exist", func(k *experiment.Kubernetes) { k.Priority = "missing" }, nil, []string{"missing"}},
		{"a runtime class that does not exist", nil, func(p *corev1.Pod) error {
			p.Spec.RuntimeClassName = new("missing")
			return nil
		}, []string{"there is no RuntimeClass missing in context tare-"}},
		{"more than any node has", func(k *experiment.Kubernetes) { k.Resources.CPU = "4000" }, nil,
			[]string{"no node will do for the client pod (0 of 2): node1 has ", " of cpu for pods, less than 4k"}},
		{"a node that does not exist", func(k *experiment.Kubernetes) { k.Client.Node = "node9" }, nil,
			[]string{"no node will do for the client pod (0 of 2): node1 is not the node asked for; node2 is not the node asked for"}},
		{"one node for two", func(k *experiment.Kubernetes) {
			k.Client.Labels = map[string]string{"kubernetes.io/hostname": "node1"}
			k.Server.Labels = k.Client.Labels
		}, nil, []string{"1 of 2 nodes will do, and client and server need two (placement: same-node puts both on one): node2 has label kubernetes.io/hostname=node2, not node1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			level := parameters()
			if tt.level != nil {
				tt.level(level)
			}
			s := open(t, bed, tt.name, pair, level)
			if tt.shape != nil {
				s.ShapePods(tt.shape)
			}
			saysWhy(t, s.Ready(t.Context()), tt.want...)
		})
	}
}

// saysWhy checks that an error contains all of the given texts, and no control sequences for a terminal.
func saysWhy(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	t.Log(err)
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q:\n%v", w, err)
		}
	}
	var limit *cluster.TimeoutError
	if errors.As(err, &limit) && limit.Limit == parameters().Timeouts.Ready.Std() {
		t.Error("it was waited for to the limit")
	}
}

// For a claim that is never bound, the error has the claim's events, at the limit.
func TestVolumeThatNeverBinds(t *testing.T) {
	t.Parallel()
	level := parameters()
	level.Timeouts.Ready = quantity.Duration(8 * time.Second)
	s := open(t, onCluster(t), "unbound", alone, level)
	s.ShapeVolume(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("missing") })
	saysWhy(t, s.Ready(t.Context()), "not after 8s", "of storage class missing is Pending", `storageclass.storage.k8s.io "missing" not found`)
}

// A namespace that the experiment names stays, and all of Tare's objects in it are removed. If the user's quota
// refuses an object, the error says so.
func TestGivenNamespace(t *testing.T) {
	t.Parallel()
	c := clusterClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "given-"}}
	ns, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("the namespace that was given: %v", err)
		}
	})
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("2")}}}
	if _, err := c.CoreV1().ResourceQuotas(ns.Name).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bed := onCluster(t)
	level := parameters()
	level.Namespace = ns.Name
	s := ready(t, bed, "given", pair, level)
	if err := s.ShapeNamespace(func(*corev1.Namespace) {}); err == nil || !strings.Contains(err.Error(), "which is not Tare's") {
		t.Errorf("the namespace can be shaped: %v", err)
	}
	transfer(t, s, testbed.PodToService)
	saysWhy(t, open(t, bed, "second", pair, level).Ready(t.Context()), "exceeded quota: small", "kubectl describe quota")
}

// If a pod is deleted while its program runs, this trial is invalid, with the reason. The pod is made again on the
// same node before the next trial.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	s := ready(t, bed, "deleted", pair, parameters())
	before, err := s.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	process, err := s.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{"iperf3", "-s"}})
	if err != nil {
		t.Fatal(err)
	}
	old := before[testbed.ClientPod]
	must(t, clusterClient(t).CoreV1().Pods(old.Namespace).Delete(t.Context(), old.Name, metav1.DeleteOptions{}))
	_, err = process.Wait()
	var lost *testbed.Disturbance
	if !errors.As(err, &lost) {
		t.Fatalf("got %v, want a disturbance", err)
	}
	t.Log(err)
	for _, want := range []string{"pod " + old.Namespace + "/client on node " + old.Spec.NodeName + " is lost", "Killing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q", want)
		}
	}
	must(t, s.Mend(t.Context()))
	after, err := s.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if now := after[testbed.ClientPod]; now.UID == old.UID || now.Spec.NodeName != old.Spec.NodeName {
		t.Errorf("pod %s on %s was mended by pod %s on %s", old.UID, old.Spec.NodeName, now.UID, now.Spec.NodeName)
	}
	if after[testbed.ServerPod].UID != before[testbed.ServerPod].UID {
		t.Error("the server's pod was made again, too")
	}
	transfer(t, s, testbed.PodToPod)
}

// Leftovers lists the objects of a killed run, and Clean removes them. Objects of other owners stay.
func TestKilled(t *testing.T) {
	if os.Getenv("TARE_TEST_TO_BE_KILLED") != "" {
		bed, err := New(Options{Kubeconfig: kubetest.Kubeconfig(t)})
		if err != nil {
			t.Fatal(err)
		}
		ready(t, bed, "killed", pair, parameters())
		fmt.Printf("owner %s\n", bed.session.Owner)
		select {}
	}
	t.Parallel()
	living := onCluster(t)
	ready(t, living, "living", alone, parameters())
	o := cluster.Options{Kubeconfig: kubetest.Kubeconfig(t)}

	child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), "TARE_TEST_TO_BE_KILLED=1")
	said := &owner{found: make(chan inventory.Owner, 1)}
	child.Stdout = said
	must(t, child.Start())
	var killed inventory.Owner
	select {
	case killed = <-said.found:
	case <-t.Context().Done():
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	if killed == "" {
		t.Fatalf("the run to be killed did not get ready: %s", said.all.String())
	}
	left, err := inventory.Leftovers(t.Context(), o, "", "")
	if err != nil {
		t.Fatal(err)
	}
	alive := map[inventory.Owner]bool{}
	for _, l := range left {
		alive[l.Owner] = l.Alive
		t.Logf("%+v", l)
	}
	if got, there := alive[killed]; got || !there || !alive[living.session.Owner] {
		t.Fatalf("alive are %v; want %s not to be, and %s to be", alive, killed, living.session.Owner)
	}
	removed, err := inventory.Clean(t.Context(), o, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range removed {
		if l.Owner == living.session.Owner {
			t.Error("the living run was cleaned")
		}
	}
	nothingLeft(t, killed)
	if err := living.opened()[0].Mend(t.Context()); err != nil {
		t.Error(err)
	}
}

// owner finds the owner in the output of a child process.
type owner struct {
	all   bytes.Buffer
	found chan inventory.Owner
}

func (o *owner) Write(b []byte) (int, error) {
	o.all.Write(b)
	if _, rest, ok := strings.Cut(o.all.String(), "owner "); ok {
		if name, _, whole := strings.Cut(rest, "\n"); whole {
			select {
			case o.found <- inventory.Owner(name):
			default:
			}
		}
	}
	return len(b), nil
}
