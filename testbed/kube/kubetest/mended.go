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

// mendLimit is how long a cluster may take to work again.
const mendLimit = 3 * time.Minute

// Breaks is what a test begins with that breaks parts of the cluster: without a test
// cluster it is skipped, and it ends when the cluster works again. An API server that
// answers is not enough: what lost it comes back after back-offs of its own. Such a
// test is never parallel to others.
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
		m := mending{client: client, namespace: "mended-" + strings.ToLower(rand.Text()[:8])}
		if err := m.await(ctx); err != nil {
			t.Errorf("the cluster does not work again %v after the test: %v", mendLimit, err)
		}
	})
}

// mending is the try to use a cluster in all its parts: a namespace with a pod on each
// node, which is deleted.
type mending struct {
	client    kubernetes.Interface
	namespace string
}

// await takes one step after the other, each until it is done.
func (m mending) await(ctx context.Context) error {
	for _, step := range []func(context.Context) error{m.begin, m.filled, m.pods, m.running, m.end, m.ended} {
		for {
			limited, cancel := context.WithTimeout(ctx, 10*time.Second) // what hangs is asked again
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

// begin makes the namespace.
func (m mending) begin(ctx context.Context) error {
	_, err := m.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // by a request whose answer was lost
	}
	return err
}

// filled says that controllers have put into the namespace what pods need.
func (m mending) filled(ctx context.Context) error {
	_, err1 := m.client.CoreV1().ServiceAccounts(m.namespace).Get(ctx, "default", metav1.GetOptions{})
	_, err2 := m.client.CoreV1().ConfigMaps(m.namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return errors.Join(err1, err2)
}

// pods makes a pod for each node; the image is the test cluster's.
func (m mending) pods(ctx context.Context) error {
	nodes, err := m.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		_, err := m.client.CoreV1().Pods(m.namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "on-" + n.Name},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{corev1.LabelHostname: n.Labels[corev1.LabelHostname]},
				Containers:   []corev1.Container{{Name: "main", Image: "tare.test/pause:1", ImagePullPolicy: corev1.PullNever}},
				// The kubelet stops it at once.
				TerminationGracePeriodSeconds: new(int64(0)),
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// running says that all of them run.
func (m mending) running(ctx context.Context) error {
	list, err := m.client.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{})
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

// end deletes the namespace with all that is in it.
func (m mending) end(ctx context.Context) error {
	err := m.client.CoreV1().Namespaces().Delete(ctx, m.namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // as above
	}
	return err
}

// ended says that it is gone.
func (m mending) ended(ctx context.Context) error {
	_, err := m.client.CoreV1().Namespaces().Get(ctx, m.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("namespace %s is still there", m.namespace))
}
