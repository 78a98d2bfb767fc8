package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
)

// silent are parameters of a run that soon counts as lost.
func silent(silence time.Duration, namespace string) *experiment.Kubernetes {
	level := parameters()
	level.Namespace, level.Timeouts.Silence = namespace, quantity.Duration(silence)
	return level
}

// controller is an object with pods that have no agent.
var controller = &unstructured.Unstructured{Object: map[string]any{
	"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "applied"},
	"spec": map[string]any{
		"replicas": int64(1), "selector": map[string]any{"matchLabels": map[string]any{"app": "applied"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "applied"}},
			"spec": map[string]any{
				"terminationGracePeriodSeconds": int64(1),
				"securityContext":               map[string]any{"runAsNonRoot": true, "runAsUser": int64(65532), "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
				"containers": []any{map[string]any{"name": "main", "image": "tare.test/pause:1", "imagePullPolicy": "IfNotPresent",
					"securityContext": map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}}}},
			},
		},
	},
}}

// sidecar adds a container to a pod. The container does not end with Tare's own container.
func sidecar(p *corev1.Pod) error {
	beside := *p.Spec.Containers[0].DeepCopy()
	beside.Name, beside.Image, beside.Command, beside.VolumeMounts = "beside", "tare.test/pause:1", nil, nil
	p.Spec.Containers = append(p.Spec.Containers, beside)
	return nil
}

// beLost makes all objects that a site can have, prints their owner, and waits to be killed.
func beLost(t *testing.T, namespace string) {
	bed, err := New(Options{Kubeconfig: kubetest.Kubeconfig(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, bed, "lost", experiment.Needs{Network: true, Volume: &experiment.Volume{Size: 1 << 20}}, silent(20*time.Second, namespace))
	s.ShapePods(sidecar)
	must(t, s.Ready(t.Context()))
	if _, err := s.Apply(t.Context(), []*unstructured.Unstructured{controller}); err != nil {
		t.Fatal(err)
	}
	if err := bed.Sampler().Start(t.Context(), s); err != nil { // which makes the pods that count
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{"iperf3", "-s"}}); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("owner %s\n", bed.session.Owner)
	select {}
}

// lose starts this test in another process, kills the process when it has made its site, and returns its owner.
func lose(t *testing.T, name, namespace string) inventory.Owner {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+name+"$")
	child.Env = append(os.Environ(), "TARE_TEST_TO_BE_LOST=1", "TARE_TEST_NAMESPACE="+namespace)
	said := &owner{found: make(chan inventory.Owner, 1)}
	child.Stdout = said
	must(t, child.Start())
	var lost inventory.Owner
	select {
	case lost = <-said.found:
	case <-t.Context().Done():
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	if lost == "" {
		t.Fatalf("the run to be lost did not get ready: %s", said.all.String())
	}
	return lost
}

// The cluster removes the objects of a lost run, except namespaces and the record, after the time without a renewal
// that the file sets. Objects of other owners in these namespaces stay.
func TestLost(t *testing.T) {
	if os.Getenv("TARE_TEST_TO_BE_LOST") != "" {
		beLost(t, os.Getenv("TARE_TEST_NAMESPACE"))
	}
	t.Parallel()
	client := clusterClient(t)
	given, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lent-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Namespaces().Delete(context.Background(), given.Name, metav1.DeleteOptions{})
	})
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if _, err := client.CoreV1().ConfigMaps(given.Name).Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"", given.Name} {
		t.Run("namespace "+namespace, func(t *testing.T) {
			lost := lose(t, "TestLost", namespace)
			c := connected(t)
			if err := c.Await(t.Context(), "the cluster to remove what is left", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
				there, err := remains(ctx, c, lost, namespace)
				return there == "", there, err
			}); err != nil {
				t.Fatal(err)
			}
			maps, err := client.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{LabelSelector: inventory.OwnerLabel + "=" + string(lost)})
			if err != nil || len(maps.Items) != 1 {
				t.Errorf("%d records, %v", len(maps.Items), err)
			}
			if namespace != "" {
				if _, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "mine", metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
			}
			if _, err := inventory.Clean(t.Context(), cluster.Options{Kubeconfig: kubetest.Kubeconfig(t)}, "", namespace); err != nil {
				t.Error(err)
			}
			nothingLeft(t, lost)
		})
	}
}

// remains names the remaining objects of a run, except for its namespaces and its record. It includes objects that
// controllers have made for the run.
func remains(ctx context.Context, c *cluster.Cluster, of inventory.Owner, given string) (string, error) {
	mine := metav1.ListOptions{LabelSelector: inventory.OwnerLabel + "=" + string(of)}
	namespaces, err := c.Client.CoreV1().Namespaces().List(ctx, mine)
	if err != nil {
		return "", err
	}
	var names, there []string
	for _, n := range namespaces.Items {
		names = append(names, n.Name)
	}
	if given != "" {
		names = append(names, given)
	}
	if len(names) == 0 {
		return "", errors.New("its namespaces are gone")
	}
	var errs []error
	for _, ns := range names {
		pods, err1 := c.Client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		claims, err2 := c.Client.CoreV1().PersistentVolumeClaims(ns).List(ctx, metav1.ListOptions{})
		services, err3 := c.Client.CoreV1().Services(ns).List(ctx, metav1.ListOptions{})
		deployments, err4 := c.Client.AppsV1().Deployments(ns).List(ctx, metav1.ListOptions{})
		jobs, err5 := c.Client.BatchV1().Jobs(ns).List(ctx, metav1.ListOptions{})
		errs = append(errs, err1, err2, err3, err4, err5)
		for kind, n := range map[string]int{"pods": len(pods.Items), "claims": len(claims.Items), "services": len(services.Items), "deployments": len(deployments.Items), "jobs": len(jobs.Items)} {
			if n > 0 {
				there = append(there, fmt.Sprintf("%d %s in %s", n, kind, ns))
			}
		}
	}
	return strings.Join(there, ", "), errors.Join(errs...)
}

// A living run extends its deadlines in every namespace that it uses. A run whose deadline has passed ends, and makes
// nothing more.
func TestPutOff(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	const silence = 20 * time.Second
	s := ready(t, bed, "living", pair, silent(silence, ""))
	must(t, bed.Sampler().Start(t.Context(), s))
	on, err := s.cluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mine := metav1.ListOptions{LabelSelector: inventory.OwnerLabel + "=" + string(bed.session.Owner)}
	var jobs *batchv1.JobList
	if err := on.Await(t.Context(), "the deadlines to be put off beyond the first", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		var err error
		if jobs, err = on.Client.BatchV1().Jobs("").List(ctx, mine); err != nil {
			return false, "", err
		}
		off := 0
		for _, j := range jobs.Items {
			if time.Duration(*j.Spec.ActiveDeadlineSeconds)*time.Second > 2*silence {
				off++
			}
		}
		return off == 2, fmt.Sprintf("%d of %d", off, len(jobs.Items)), nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Mend(t.Context()); err != nil {
		t.Error(err)
	}
	transfer(t, s, testbed.PodToPod)
	for _, j := range jobs.Items {
		if j.Namespace != s.Namespace() {
			continue
		}
		if err := on.Client.BatchV1().Jobs(j.Namespace).Delete(t.Context(), j.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if err := on.Await(t.Context(), "the run to notice", 2*time.Minute, func(context.Context) (bool, string, error) {
		return on.record.Present() != nil, "", nil
	}); err != nil {
		t.Fatal(err)
	}
	err = s.Mend(t.Context())
	if want := "because the run had sent nothing to the cluster for 20s"; !errors.Is(err, inventory.ErrCleaned) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
