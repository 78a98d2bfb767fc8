// Package kubetest gives tests the cluster that `make test` starts. Without a cluster, it skips the tests.
package kubetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/testbed"
)

// These variables name the test cluster. `make test` sets the last two only if a program below hack/cluster made the
// cluster: only then may tests break it.
const (
	kubeconfigVariable = "TARE_TEST_KUBECONFIG" // path of the kubeconfig
	nameVariable       = "TARE_TEST_CLUSTER"    // name by which the program below hack/cluster knows the cluster
	programVariable    = "TARE_TEST_CLUSTER_PROGRAM"
)

// Kubeconfig returns the path of the test cluster's kubeconfig. Without a cluster, it skips the test.
func Kubeconfig(t testing.TB) string {
	t.Helper()
	path := os.Getenv(kubeconfigVariable)
	if path == "" {
		t.Skipf("%s is not set: make test brings a cluster up and sets it", kubeconfigVariable)
	}
	return path
}

// Control runs a command of the test cluster's program, such as "stop node2 kubelet", and returns the output. Without
// the program, it skips the test.
func Control(t testing.TB, args ...string) string {
	t.Helper()
	program, name := os.Getenv(programVariable), os.Getenv(nameVariable)
	if program == "" || name == "" {
		t.Skipf("%s and %s are not set: this test breaks parts of a cluster, which make test brings up for it",
			programVariable, nameVariable)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, append([]string{"--name", name}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", program, args, err, out, stderr.Bytes())
	}
	return string(out)
}

const mendLimit = 3 * time.Minute

// Breaks must be called first in a test that breaks the cluster. Such tests must not run in parallel. Breaks may skip
// the test. After the test, it waits until the cluster works.
func Breaks(t testing.TB) {
	t.Helper()
	Control(t, "status")
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), mendLimit)
		defer cancel()
		if err := awaitCluster(ctx, client, "mended-"+strings.ToLower(rand.Text()[:8])); err != nil {
			t.Errorf("the cluster does not work again %v after the test: %v", mendLimit, err)
		}
	})
}

// awaitCluster waits until a cluster works again. It checks this by making a namespace with a pod on each node, and
// deletes both afterwards.
func awaitCluster(ctx context.Context, client kubernetes.Interface, namespace string) error {
	core := client.CoreV1()
	steps := []func(context.Context) error{
		func(ctx context.Context) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
			_, err := core.Namespaces().Create(ctx, ns, metav1.CreateOptions{})
			return unless(err, apierrors.IsAlreadyExists)
		},
		func(ctx context.Context) error { return makePods(ctx, client, namespace) }, // fails until the service account exists
		func(ctx context.Context) error {
			list, err := core.Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Running"})
			if err == nil && len(list.Items) > 0 {
				p := list.Items[0]
				err = fmt.Errorf("pod %s/%s is %s", p.Namespace, p.Name, p.Status.Phase)
			}
			return err
		},
		func(ctx context.Context) error {
			err := core.Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
			return unless(unless(err, apierrors.IsNotFound), apierrors.IsConflict)
		},
		func(ctx context.Context) error {
			_, err := core.Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			if err == nil {
				err = fmt.Errorf("namespace %s is still there", namespace)
			}
			return unless(err, apierrors.IsNotFound)
		},
	}
	for _, step := range steps {
		for {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second)
			err := step(limited)
			cancel()
			if err == nil {
				break
			}
			if testbed.Pause(ctx, 200*time.Millisecond) != nil {
				return err
			}
		}
	}
	return nil
}

// unless returns err, or nil if the function harmless accepts err. One such error is AlreadyExists, after a request
// whose response was lost.
func unless(err error, harmless func(error) bool) error {
	if harmless(err) {
		return nil
	}
	return err
}

func makePods(ctx context.Context, client kubernetes.Interface, namespace string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		_, err := client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + n.Name},
			Spec: corev1.PodSpec{
				NodeSelector:                  map[string]string{corev1.LabelHostname: n.Labels[corev1.LabelHostname]},
				Containers:                    []corev1.Container{{Name: "main", Image: "tare.test/pause:1", ImagePullPolicy: corev1.PullNever}},
				TerminationGracePeriodSeconds: new(int64(0)), // the kubelet stops the pod at once
			},
		}, metav1.CreateOptions{})
		if err := unless(err, apierrors.IsAlreadyExists); err != nil {
			return err
		}
	}
	return nil
}
