package placement

import (
	"context"
	"fmt"

	"tare/testbed/kube/cluster"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resolveRuntime lets pods of a RuntimeClass ask of nodes what the class does, as
// the API server will have them do.
func resolveRuntime(ctx context.Context, on *cluster.Cluster, pods ...*corev1.Pod) error {
	for _, pod := range pods {
		if pod == nil || pod.Spec.RuntimeClassName == nil {
			continue
		}
		class, err := on.Client.NodeV1().RuntimeClasses().Get(ctx, *pod.Spec.RuntimeClassName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no RuntimeClass %s in context %s", *pod.Spec.RuntimeClassName, on.Context)
		case err != nil || class.Scheduling == nil:
			continue // without the right to read it, the scheduler will tell
		}
		for k, v := range class.Scheduling.NodeSelector {
			if pod.Spec.NodeSelector == nil {
				pod.Spec.NodeSelector = map[string]string{}
			}
			pod.Spec.NodeSelector[k] = v
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, class.Scheduling.Tolerations...)
	}
	return nil
}
