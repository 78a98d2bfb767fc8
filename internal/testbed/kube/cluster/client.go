package cluster

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	apps "k8s.io/client-go/kubernetes/typed/apps/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batch "k8s.io/client-go/kubernetes/typed/batch/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	node "k8s.io/client-go/kubernetes/typed/node/v1"
	rbac "k8s.io/client-go/kubernetes/typed/rbac/v1"
	scheduling "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	storage "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
)

// Client has the groups of Kubernetes' API that Tare uses. The others of kubernetes.Interface would add 7 MB.
type Client interface {
	Discovery() discovery.DiscoveryInterface
	AdmissionregistrationV1() admissionregistration.AdmissionregistrationV1Interface
	AppsV1() apps.AppsV1Interface
	AuthenticationV1() authentication.AuthenticationV1Interface
	AuthorizationV1() authorization.AuthorizationV1Interface
	BatchV1() batch.BatchV1Interface
	CoreV1() core.CoreV1Interface
	NodeV1() node.NodeV1Interface
	RbacV1() rbac.RbacV1Interface
	SchedulingV1() scheduling.SchedulingV1Interface
	StorageV1() storage.StorageV1Interface
}

// NewClient makes the client of a cluster. All groups share one transport and one limit of requests.
func NewClient(config *rest.Config) (Client, error) {
	c := &client{config: *config}
	if c.config.UserAgent == "" {
		c.config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	var err error
	if c.transport, err = rest.HTTPClientFor(&c.config); err != nil {
		return nil, err
	}
	if c.config.RateLimiter == nil && c.config.QPS > 0 {
		c.config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.config.QPS, max(1, c.config.Burst))
	}
	_, err = core.NewForConfigAndClient(&c.config, c.transport) // a bad configuration has the same error in every group
	return c, err
}

type client struct {
	config    rest.Config
	transport *http.Client
}

// group makes the client of a group. It cannot fail, since NewClient has checked the configuration.
func group[T any](c *client, makes func(*rest.Config, *http.Client) (T, error)) T {
	made, _ := makes(&c.config, c.transport)
	return made
}

func (c *client) Discovery() discovery.DiscoveryInterface {
	return group(c, discovery.NewDiscoveryClientForConfigAndClient)
}
func (c *client) AdmissionregistrationV1() admissionregistration.AdmissionregistrationV1Interface {
	return group(c, admissionregistration.NewForConfigAndClient)
}
func (c *client) AuthenticationV1() authentication.AuthenticationV1Interface {
	return group(c, authentication.NewForConfigAndClient)
}
func (c *client) AuthorizationV1() authorization.AuthorizationV1Interface {
	return group(c, authorization.NewForConfigAndClient)
}
func (c *client) SchedulingV1() scheduling.SchedulingV1Interface {
	return group(c, scheduling.NewForConfigAndClient)
}
func (c *client) AppsV1() apps.AppsV1Interface    { return group(c, apps.NewForConfigAndClient) }
func (c *client) BatchV1() batch.BatchV1Interface { return group(c, batch.NewForConfigAndClient) }
func (c *client) CoreV1() core.CoreV1Interface    { return group(c, core.NewForConfigAndClient) }
func (c *client) NodeV1() node.NodeV1Interface    { return group(c, node.NewForConfigAndClient) }
func (c *client) RbacV1() rbac.RbacV1Interface    { return group(c, rbac.NewForConfigAndClient) }
func (c *client) StorageV1() storage.StorageV1Interface {
	return group(c, storage.NewForConfigAndClient)
}

// PodInformer follows the pods of a namespace that a selector of labels selects, once it is run. The factories
// of package informers would add the informers of every resource to the program.
func PodInformer(client Client, namespace, selector string) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = selector
			return client.CoreV1().Pods(namespace).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = selector
			return client.CoreV1().Pods(namespace).Watch(ctx, o)
		},
	}, &corev1.Pod{}, 0, cache.Indexers{})
}
