// Package kube is the testbed on a Kubernetes cluster: sites are namespaces with
// pods on nodes, made through client-go.
//
// A site (Site) is asked for by Open, shaped by the arm's layers (ShapeNamespace,
// ShapePods, ShapeVolume, Apply), and made by Ready. It stays up for the whole
// run: a trial is a few messages to the agents in its pods (package agent), so
// that nothing of the cluster works for Tare while a trial runs.
//
// Everything that is made is recorded in the cluster before it is made and
// carries the owner's label, so that Close, or Clean after kill -9, removes
// exactly that. Every wait has a limit and says what it waited for, with the
// events and the last log lines of the pods.
package kube

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"tare/experiment"
	"tare/machine"
	"tare/testbed"
	"tare/testbed/kube/agent"
)

// Labels of everything that Tare makes.
const (
	ManagedBy  = "app.kubernetes.io/managed-by" // "tare"
	OwnerLabel = "tare/owner"                   // the run's random name
	ArmLabel   = "tare/arm"
	RoleLabel  = "tare/role" // "client", "server", "client-node", "server-node", "node" (accounting)
)

// Container is the name of the container in which programs run.
const Container = "tare"

// Options are what a testbed needs besides the experiment.
type Options struct {
	Kubeconfig string // path; "" for the usual ones
	Version    string // of Tare
	Run        string // run directory, for the record in the cluster
	// Say takes a line of progress ("waiting for pod …: pulling the image"); nil drops it.
	Say func(string)
}

// Testbed makes sites on one cluster or several.
type Testbed struct{}

// Site is the surroundings of one arm: a namespace with pods.
type Site struct{}

// Cluster is one cluster that sites are on, by its context.
type Cluster struct {
	Context string // as in the kubeconfig
	UID     string // of the namespace kube-system: says whether two contexts are one cluster
	Config  *rest.Config
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
}

// New makes a testbed. It does not talk to any cluster yet.
func New(o Options) (*Testbed, error) { return &Testbed{}, nil }

var (
	_ testbed.Testbed = (*Testbed)(nil)
	_ testbed.Staged  = (*Site)(nil)
	_ testbed.Network = (*Site)(nil)
	_ testbed.Volume  = (*Site)(nil)
)

// Of gives the site of this testbed below a site, or an error that says that the
// layer or workload needs a cluster.
func Of(site testbed.Site) (*Site, error) { return nil, errNotBuilt }

// UseContext puts the site on another cluster than its testbed's. It must come
// before everything else that a layer asks of the site.
func (s *Site) UseContext(name string) error { return errNotBuilt }

// Cluster is where the site is; it connects when first asked.
func (s *Site) Cluster(ctx context.Context) (*Cluster, error) { return nil, errNotBuilt }

// Namespace is the name of the site's namespace, known from the beginning.
func (s *Site) Namespace() string { return "" }

// Parameters are the testbed's at the site's level.
func (s *Site) Parameters() *experiment.Kubernetes { return nil }

// ShapeNamespace has f change the namespace before it is made. It is an error
// when the namespace is given, and not Tare's.
func (s *Site) ShapeNamespace(f func(*corev1.Namespace)) error { return errNotBuilt }

// ShapePods has f change every workload pod of the site before it is made. An
// error of f ends Ready.
func (s *Site) ShapePods(f func(*corev1.Pod) error) { panic(errNotBuilt) }

// ShapeVolume has f change the claim of the site's volume before it is made.
func (s *Site) ShapeVolume(f func(*corev1.PersistentVolumeClaim)) { panic(errNotBuilt) }

// Apply makes or changes objects by server-side apply, in the site's namespace
// where they name none, and records them before. It gives them as they are then.
// An object that exists and is not of this run is refused.
func (s *Site) Apply(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	return nil, errNotBuilt
}

// Get reads an object as it is now; the error is of apierrors where it is gone.
func (s *Site) Get(ctx context.Context, like *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return nil, errNotBuilt
}

// Delete deletes objects that Apply made and waits until they are gone.
func (s *Site) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	return errNotBuilt
}

// Await waits until done says true, asking it at growing intervals up to the
// limit of the testbed's timeout ready. What is said in its progress and in the
// error when the limit is reached: "condition Ready of VarmorPolicy demo: status
// Pending".
func (s *Site) Await(ctx context.Context, what string, done func(context.Context) (ok bool, now string, err error)) error {
	return errNotBuilt
}

// Pods gives the site's workload pods as the API server has them now, by place.
func (s *Site) Pods(ctx context.Context) (map[testbed.Place]*corev1.Pod, error) {
	return nil, errNotBuilt
}

// Claim gives the claim of the site's volume and the volume that it is bound to.
func (s *Site) Claim(ctx context.Context) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	return nil, nil, errNotBuilt
}

// Facts asks the agent in the pod at a place what it sees of itself.
func (s *Site) Facts(ctx context.Context, where testbed.Place) (agent.Facts, error) {
	return agent.Facts{}, errNotBuilt
}

// Exec runs a program in any container of any pod, for a proof, and gives its
// output of up to 1 MiB. A program that fails is a *testbed.ExitError.
func (s *Site) Exec(ctx context.Context, namespace, pod, container string, args []string) (stdout, stderr []byte, err error) {
	return nil, nil, errNotBuilt
}

// Sampler samples the nodes that trials run on.
func (t *Testbed) Sampler() *Sampler { return &Sampler{} }

// Sampler is the runner's Sampler for this testbed.
type Sampler struct{}

// Start begins a sample.
func (s *Sampler) Start(ctx context.Context, site testbed.Site) error { return errNotBuilt }

// Stop ends it.
func (s *Sampler) Stop(ctx context.Context, own time.Duration) (testbed.Sample, error) {
	return testbed.Sample{}, errNotBuilt
}

// Describe describes the clusters that the sites are on, once they are ready.
func (t *Testbed) Describe(ctx context.Context) ([]machine.Cluster, error) { return nil, errNotBuilt }
