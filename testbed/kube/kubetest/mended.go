package kubetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// mendLimit is the time in which a cluster must work again after a test.
const mendLimit = 3 * time.Minute

// Breaks is called first by tests that break parts of the cluster. Without a test cluster it
// skips the test. At the end of the test it waits until the whole cluster works again: after
// the API server is back, the other components reconnect with back-offs of their own. Such
// tests must not run in parallel with others.
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
		c := check{client: client, namespace: "mended-" + strings.ToLower(rand.Text()[:8])}
		if err := c.await(ctx); err != nil {
			t.Errorf("the cluster does not work again %v after the test: %v", mendLimit, err)
		}
	})
}

// check tests that all parts of a cluster work: it makes a namespace with a pod on each
// node, and deletes it.
type check struct {
	client    kubernetes.Interface
	namespace string
}

// await runs the steps of the check in order and repeats each until it succeeds.
func (c check) await(ctx context.Context) error {
	steps := []func(context.Context) error{
		c.makeNamespace, c.hasDefaults, c.makePods, c.podsRun, c.deleteNamespace, c.namespaceGone,
	}
	for _, step := range steps {
		for {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second) // a request that hangs is repeated
			err := step(limited)
			cancel()
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

// makeNamespace makes the namespace of the check.
func (c check) makeNamespace(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	_, err := c.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // an earlier request made the namespace, and its response was lost
	}
	return err
}

// hasDefaults tests that controllers have made the service account and the CA bundle that
// pods need.
func (c check) hasDefaults(ctx context.Context) error {
	_, err1 := c.client.CoreV1().ServiceAccounts(c.namespace).Get(ctx, "default", metav1.GetOptions{})
	_, err2 := c.client.CoreV1().ConfigMaps(c.namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return errors.Join(err1, err2)
}

// makePods makes a pod on each node. All nodes of the test cluster have its image.
func (c check) makePods(ctx context.Context) error {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		_, err := c.client.CoreV1().Pods(c.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + n.Name},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelHostname: n.Labels[corev1.LabelHostname]},
				Containers:   []corev1.Container{{Name: "main", Image: "tare.test/pause:1", ImagePullPolicy: corev1.PullNever}},
				// Without a grace period, the kubelet stops the pod at once.
				TerminationGracePeriodSeconds: new(int64(0)),
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// podsRun tests that all pods run.
func (c check) podsRun(ctx context.Context) error {
	list, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range list.Items {
		if p.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s/%s is %s", p.Namespace, p.Name, p.Status.Phase)
		}
	}
	return nil
}

// deleteNamespace deletes the namespace with all its objects.
func (c check) deleteNamespace(ctx context.Context) error {
	err := c.client.CoreV1().Namespaces().Delete(ctx, c.namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // an earlier request deleted the namespace, and its response was lost
	}
	return err
}

// namespaceGone tests that the namespace does not exist any more.
func (c check) namespaceGone(ctx context.Context) error {
	_, err := c.client.CoreV1().Namespaces().Get(ctx, c.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("namespace %s is still there", c.namespace))
}
