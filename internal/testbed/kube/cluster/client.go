package cluster

import (
	"errors"
	"net/http"

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
	"k8s.io/client-go/util/flowcontrol"
)

// Client has the groups of Kubernetes' API that Tare uses. kubernetes.Interface has them as well, and forty more,
// which would add 7 MB to the program.
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
	c := *config
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	transport, err := rest.HTTPClientFor(&c)
	if err != nil {
		return nil, err
	}
	if c.RateLimiter == nil && c.QPS > 0 {
		c.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(c.QPS, max(1, c.Burst))
	}
	m := maker{&c, transport, nil}
	all := &client{
		discovery:                  made(&m, discovery.NewDiscoveryClientForConfigAndClient),
		admissionregistrationGroup: made(&m, admissionregistration.NewForConfigAndClient),
		appsGroup:                  made(&m, apps.NewForConfigAndClient),
		authenticationGroup:        made(&m, authentication.NewForConfigAndClient),
		authorizationGroup:         made(&m, authorization.NewForConfigAndClient),
		batchGroup:                 made(&m, batch.NewForConfigAndClient),
		coreGroup:                  made(&m, core.NewForConfigAndClient),
		nodeGroup:                  made(&m, node.NewForConfigAndClient),
		rbacGroup:                  made(&m, rbac.NewForConfigAndClient),
		schedulingGroup:            made(&m, scheduling.NewForConfigAndClient),
		storageGroup:               made(&m, storage.NewForConfigAndClient),
	}
	return all, m.err
}

// maker makes the clients of groups, and keeps their errors.
type maker struct {
	config    *rest.Config
	transport *http.Client
	err       error
}

func made[T any](m *maker, makes func(*rest.Config, *http.Client) (T, error)) T {
	c, err := makes(m.config, m.transport)
	m.err = errors.Join(m.err, err)
	return c
}

type client struct {
	discovery                  *discovery.DiscoveryClient
	admissionregistrationGroup *admissionregistration.AdmissionregistrationV1Client
	appsGroup                  *apps.AppsV1Client
	authenticationGroup        *authentication.AuthenticationV1Client
	authorizationGroup         *authorization.AuthorizationV1Client
	batchGroup                 *batch.BatchV1Client
	coreGroup                  *core.CoreV1Client
	nodeGroup                  *node.NodeV1Client
	rbacGroup                  *rbac.RbacV1Client
	schedulingGroup            *scheduling.SchedulingV1Client
	storageGroup               *storage.StorageV1Client
}

func (c *client) Discovery() discovery.DiscoveryInterface { return c.discovery }
func (c *client) AdmissionregistrationV1() admissionregistration.AdmissionregistrationV1Interface {
	return c.admissionregistrationGroup
}
func (c *client) AppsV1() apps.AppsV1Interface { return c.appsGroup }
func (c *client) AuthenticationV1() authentication.AuthenticationV1Interface {
	return c.authenticationGroup
}
func (c *client) AuthorizationV1() authorization.AuthorizationV1Interface {
	return c.authorizationGroup
}
func (c *client) BatchV1() batch.BatchV1Interface                { return c.batchGroup }
func (c *client) CoreV1() core.CoreV1Interface                   { return c.coreGroup }
func (c *client) NodeV1() node.NodeV1Interface                   { return c.nodeGroup }
func (c *client) RbacV1() rbac.RbacV1Interface                   { return c.rbacGroup }
func (c *client) SchedulingV1() scheduling.SchedulingV1Interface { return c.schedulingGroup }
func (c *client) StorageV1() storage.StorageV1Interface          { return c.storageGroup }
