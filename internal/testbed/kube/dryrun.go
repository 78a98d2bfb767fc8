package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"tare/internal/experiment"
	"tare/internal/lists"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/accounting"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
	"tare/internal/text/safetext"
)

// dryRun sends objects to the API server, which validates them and runs admission policies, but does not store them.
type dryRun struct {
	client cluster.Client

	mu       sync.Mutex
	warnings []string // warnings of the API server since the last finding; the next finding gets them
	findings []testbed.Finding
}

var dryRunOnly = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func newDryRun(on *clusterRun, limit time.Duration) (*dryRun, error) {
	d := &dryRun{}
	config := rest.CopyConfig(on.Config)
	config.WarningHandler = d
	config.Wrap(cluster.Retrying(limit))
	client, err := cluster.NewClient(config)
	d.client = client
	return d, err
}

// HandleWarningHeader keeps a warning of a response, such as one of Pod Security in its mode "warn".
func (d *dryRun) HandleWarningHeader(code int, _, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	const warning, most = 299, 5
	text = safetext.Head(text, cluster.LineLimit)
	if code == warning && len(d.warnings) < most && !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

// add adds a finding with the text of err, or with detail if err is nil. The API server's warnings since the last
// finding are appended.
func (d *dryRun) add(name, detail string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: detail}
	if err != nil {
		f.Status, f.Detail = testbed.Refused, safetext.Head(cluster.Explain(err).Error(), 1500)
	}
	if d.warnings != nil {
		f.Detail = strings.TrimPrefix(f.Detail+"; warned: "+strings.Join(d.warnings, "; "), "; ")
		d.warnings = nil
	}
	d.findings = append(d.findings, f)
}

// Try tests by dry runs whether the site can be made with its layers' changes. It changes the site's plans: Ready must
// not be called afterwards.
func (s *Site) Try(ctx context.Context) ([]testbed.Finding, error) {
	on, err := s.cluster(ctx)
	if err != nil {
		return nil, err
	}
	d, err := newDryRun(on, s.level.Timeouts.Request.Std())
	if err != nil {
		return nil, err
	}
	of := " of arm " + safetext.Head(s.arm, 100)
	where := s.tryNamespace(ctx, d, of)
	if !s.needs.PodsOnClusters() {
		return d.findings, ctx.Err()
	}
	host := s.needs.HostNetwork
	s.needs.Network = s.hasServer()
	s.needs.HostNetwork = false // otherwise s.plans would make a namespace
	plans, err := s.plans(ctx, on)
	if err != nil {
		d.add("nodes and pods"+of, "", err)
		return d.findings, ctx.Err()
	}
	chosen := lists.Map(slices.Sorted(maps.Keys(plans)), func(place testbed.Place) string {
		return podTitle(plans[place]) + " on " + shorten(plans[place].Spec.NodeSelector[corev1.LabelHostname])
	})
	d.add("nodes"+of, strings.Join(chosen, ", "), nil)
	for _, v := range s.volumes() {
		if v.where == testbed.ClientPod || v.where == testbed.ServerPod { // all members have equal volumes: trying one is enough
			s.tryVolume(ctx, d, v, where, of)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(plans)) {
		plan := plans[place]
		if podTitle(plan) != plan.Labels[inventory.RoleLabel] {
			continue // all clients have equal pods, and so have all members: trying the first is enough
		}
		s.tryPod(ctx, d, plan, where, podTitle(plan)+" pod"+of)
	}
	if host {
		plan := s.planPod(roleClientNode)
		pods.OnHost(plan)
		s.tryPod(ctx, d, plan, where, "pod in the host's network"+of)
	}
	s.tryPod(ctx, d, s.planNodePod(accounting.RoleNode), where, "pod that counts on a node")
	return d.findings, ctx.Err()
}

// tryNamespace tries the site's namespace by a dry run. It returns a namespace for trying pods: "default" if Tare is to
// make the site's namespace.
func (s *Site) tryNamespace(ctx context.Context, d *dryRun, of string) string {
	if s.sharesNamespace() {
		ns, err := d.client.CoreV1().Namespaces().Get(ctx, s.level.Namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err): // this right is optional: trying the pods also shows whether the namespace is missing
		case err != nil:
			d.add("namespace "+s.level.Namespace, "", err)
		default:
			level := cmp.Or(ns.Labels[cluster.EnforceLabel], "as the cluster has it")
			d.add("namespace "+s.level.Namespace, "exists; Pod Security "+shorten(level), nil)
		}
		return s.level.Namespace
	}
	ns := s.planNamespace()
	for _, shape := range s.shapes.namespace {
		shape(ns)
	}
	_, err := d.client.CoreV1().Namespaces().Create(ctx, ns, dryRunOnly)
	d.add("namespace"+of, "would be made, with Pod Security "+shorten(ns.Labels[cluster.EnforceLabel]), err)
	if s.level.Accounting == experiment.OnNode || s.needs.HostNetwork {
		ns.Name = cluster.Label("tare-"+string(s.bed.session.Owner)+"-nodes", cluster.NameLimit)
		ns.Labels[cluster.EnforceLabel] = privileged
		_, err := d.client.CoreV1().Namespaces().Create(ctx, ns, dryRunOnly)
		d.add("namespace of pods on nodes", "would be made, with Pod Security "+privileged, err)
	}
	return metav1.NamespaceDefault
}

// tryPod tries to make a pod by a dry run. In a namespace that is not the site's, a refusal by quota or Pod Security
// proves nothing.
func (s *Site) tryPod(ctx context.Context, d *dryRun, plan *corev1.Pod, where, name string) {
	plan.Namespace = where
	plan.Name = cluster.Label(s.unique, cluster.NameLimit-20) + "-" + plan.Labels[inventory.RoleLabel]
	_, err := d.client.CoreV1().Pods(where).Create(ctx, plan, dryRunOnly)
	if s.sharesNamespace() {
		d.add(name, "admitted to namespace "+where, err)
		return
	}
	if d.wrongNamespace(name, where, err) {
		return
	}
	d.add(name, "admitted, as tried in namespace "+where, err)
}

// wrongNamespace reports whether an object was refused only because of the namespace where Tare tried it. If so, it
// adds a finding.
func (d *dryRun) wrongNamespace(name, where string, err error) bool {
	if err == nil {
		return false
	}
	why := ""
	switch text := err.Error(); {
	case strings.Contains(text, "violates PodSecurity"), strings.Contains(text, "exceeded quota"):
		why = "has a quota or a Pod Security that Tare's own will not have"
	case strings.Contains(text, confined):
		why = "is not one of Tare's own, to which a policy confines it"
	default:
		return false
	}
	d.mu.Lock()
	d.warnings = nil
	d.mu.Unlock()
	d.add(name, fmt.Sprintf("not tried: namespace %s, the only one to try it in, %s", where, why), nil)
	return true
}

// tryVolume tries the volume's claim by a dry run, and looks for the claim's storage class. With a missing class, a pod
// would wait forever.
func (s *Site) tryVolume(ctx context.Context, d *dryRun, v volume, where, of string) {
	claim := s.planClaim(v)
	claim.Namespace = where
	claim.Name = cluster.Label(s.unique, cluster.NameLimit-20) + "-" + volumeName
	made, err := d.client.CoreV1().PersistentVolumeClaims(where).Create(ctx, claim, dryRunOnly)
	if !s.sharesNamespace() && d.wrongNamespace("claim of the volume"+of, where, err) {
		return
	}
	d.add("claim of the volume"+of, "admitted", err)
	if err != nil {
		return
	}
	name := "storage class" + of
	class, err := storageClass(ctx, d.client, made.Spec.StorageClassName)
	switch {
	case apierrors.IsForbidden(err): // the right to read storage classes is optional
	case apierrors.IsNotFound(err):
		d.findings = append(d.findings, testbed.Finding{Name: name, Status: testbed.Missing,
			Detail: safetext.Head(err.Error(), cluster.LineLimit),
			Hint:   "kubectl get storageclasses lists the existing classes"})
	case err != nil:
		d.add(name, "", err)
	default:
		d.add(name, shorten(class.Name)+" by "+shorten(class.Provisioner), nil)
	}
}

// storageClass returns the storage class with this name. Without a name, it returns the cluster's default class.
func storageClass(ctx context.Context, client cluster.Client, name *string) (*storagev1.StorageClass, error) {
	if name != nil && *name != "" {
		return client.StorageV1().StorageClasses().Get(ctx, *name, metav1.GetOptions{})
	}
	list, err := client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			return &list.Items[i], nil
		}
	}
	return nil, apierrors.NewNotFound(storagev1.Resource("storageclasses"), "marked as the default")
}
