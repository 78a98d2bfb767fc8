package kube

import (
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
	"tare/testbed/kube/accounting"
	"tare/testbed/kube/cluster"
	"tare/testbed/kube/inventory"
	"tare/testbed/kube/pods"
)

// dryRun offers objects to the API server that are not to be made: they pass
// validation and admission, and that is all.
type dryRun struct {
	client kubernetes.Interface

	mu       sync.Mutex
	warnings []string
	findings []testbed.Finding
}

// warningCode is the code that all warnings of an API server have.
const warningCode = 299

// dry are the options of a request that changes nothing.
var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func newDryRun(on *clusterRun, limit time.Duration) (*dryRun, error) {
	d := &dryRun{}
	config := rest.CopyConfig(on.Config)
	config.WarningHandler = d
	config.Wrap(cluster.Patience(limit))
	client, err := kubernetes.NewForConfig(config)
	d.client = client
	return d, err
}

// HandleWarningHeader keeps a warning that came with an answer, such as those of
// Pod Security where it only warns.
func (d *dryRun) HandleWarningHeader(code int, _, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	const most = 5
	if text = safetext.Head(text, cluster.LineLimit); code == warningCode && len(d.warnings) < most && !slices.Contains(d.warnings, text) {
		d.warnings = append(d.warnings, text)
	}
}

// note adds a finding: what was said where it works, the error where it does not,
// and the warnings since the last one.
func (d *dryRun) note(name, works string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := testbed.Finding{Name: name, Status: testbed.Works, Detail: works}
	if err != nil {
		f.Status, f.Detail = testbed.Refused, safetext.Head(cluster.Explain(err).Error(), 1500)
	}
	if d.warnings != nil {
		f.Detail = strings.TrimPrefix(f.Detail+"; warned: "+strings.Join(d.warnings, "; "), "; ")
		d.warnings = nil
	}
	d.findings = append(d.findings, f)
}

// Try tries, by dry runs, whether the site could be made as its layers have
// shaped it so far: its nodes, namespace, volume and pods. A site that was tried
// is not made afterwards.
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
	s.needs.Network = s.paired()
	s.needs.HostNetwork = false // planning those pods makes their namespace
	plans, err := s.plans(ctx, on)
	if err != nil {
		d.note("nodes and pods"+of, "", err)
		return d.findings, ctx.Err()
	}
	d.note("nodes"+of, nodesOf(plans), nil)
	for _, v := range s.volumes() {
		if v.where == testbed.ClientPod || v.where == testbed.ServerPod { // those of further members are alike
			s.tryVolume(ctx, d, v, where, of)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(plans)) {
		plan := plans[place]
		if title(plan) != plan.Labels[inventory.RoleLabel] {
			continue // a further member, whose pod is the first one's
		}
		s.tryPod(ctx, d, plan, where, title(plan)+" pod"+of)
	}
	if host {
		plan := s.planPod(roleClientNode)
		pods.OnHost(plan)
		s.tryPod(ctx, d, plan, where, "pod in the host's network"+of)
	}
	s.tryPod(ctx, d, s.planNodePod(accounting.RoleNode), where, "pod that counts on a node")
	return d.findings, ctx.Err()
}

// nodesOf names the nodes that were chosen.
func nodesOf(plans map[testbed.Place]*corev1.Pod) string {
	var list []string
	for _, place := range slices.Sorted(maps.Keys(plans)) {
		list = append(list, title(plans[place])+" on "+short(plans[place].Spec.NodeSelector[corev1.LabelHostname]))
	}
	return strings.Join(list, ", ")
}

// tryNamespace tries the namespace, and gives one that pods can be offered to. That is
// not one of Tare's own, which does not exist yet: there the API server refuses any
// pod.
func (s *Site) tryNamespace(ctx context.Context, d *dryRun, of string) string {
	if s.given() {
		ns, err := d.client.CoreV1().Namespaces().Get(ctx, s.level.Namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err): // a right that is not needed: the pods will tell
		case err != nil:
			d.note("namespace "+s.level.Namespace, "", err)
		default:
			level := ns.Labels[cluster.EnforceLabel]
			if level == "" {
				level = "as the cluster has it"
			}
			d.note("namespace "+s.level.Namespace, "exists; Pod Security "+short(level), nil)
		}
		return s.level.Namespace
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.unique, Labels: s.run.session.Owner.Labels(s.arm, ""), Annotations: map[string]string{armAnnotation: s.arm}}}
	ns.Labels[cluster.EnforceLabel] = s.podSecurity()
	for _, shape := range s.shapes.namespace {
		shape(ns)
	}
	_, err := d.client.CoreV1().Namespaces().Create(ctx, ns, dry)
	d.note("namespace"+of, "would be made, with Pod Security "+short(ns.Labels[cluster.EnforceLabel]), err)
	if s.level.Accounting == experiment.OnNode || s.needs.HostNetwork {
		ns.Name = cluster.Label("tare-"+string(s.run.session.Owner)+"-nodes", cluster.NameLimit)
		ns.Labels[cluster.EnforceLabel] = privileged
		_, err := d.client.CoreV1().Namespaces().Create(ctx, ns, dry)
		d.note("namespace of pods on nodes", "would be made, with Pod Security "+privileged, err)
	}
	return metav1.NamespaceDefault
}

// tryPod offers a pod. In a namespace other than its own, quota and Pod Security
// say nothing about it.
func (s *Site) tryPod(ctx context.Context, d *dryRun, plan *corev1.Pod, where, name string) {
	plan.Namespace = where
	plan.Name = cluster.Label(s.unique, cluster.NameLimit-20) + "-" + plan.Labels[inventory.RoleLabel]
	_, err := d.client.CoreV1().Pods(where).Create(ctx, plan, dry)
	if s.given() {
		d.note(name, "admitted to namespace "+where, err)
		return
	}
	if d.elsewhere(name, where, err) {
		return
	}
	d.note(name, "admitted, as tried in namespace "+where, err)
}

// elsewhere says whether an object was refused for the namespace in which it was tried, for
// want of one of Tare's own, and notes that.
func (d *dryRun) elsewhere(name, where string, err error) bool {
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
	d.note(name, fmt.Sprintf("not tried: namespace %s, the only one to try it in, %s", where, why), nil)
	return true
}

// tryVolume offers the claim, and looks for the storage class, which nothing else
// asks for before a pod waits for the volume.
func (s *Site) tryVolume(ctx context.Context, d *dryRun, v claimed, where, of string) {
	claim := s.planClaim(v)
	claim.Namespace = where
	claim.Name = cluster.Label(s.unique, cluster.NameLimit-20) + "-" + volumeName
	made, err := d.client.CoreV1().PersistentVolumeClaims(where).Create(ctx, claim, dry)
	if !s.given() && d.elsewhere("claim of the volume"+of, where, err) {
		return
	}
	d.note("claim of the volume"+of, "admitted", err)
	if err != nil {
		return
	}
	name := "storage class" + of
	class, err := storageClass(ctx, d.client, made.Spec.StorageClassName)
	switch {
	case apierrors.IsForbidden(err): // a right that is not needed
	case apierrors.IsNotFound(err):
		d.findings = append(d.findings, testbed.Finding{Name: name, Status: testbed.Missing,
			Detail: safetext.Head(err.Error(), cluster.LineLimit), Hint: "kubectl get storageclasses lists those that there are"})
	case err != nil:
		d.note(name, "", err)
	default:
		d.note(name, short(class.Name)+" by "+short(class.Provisioner), nil)
	}
}

// storageClass finds a class by its name; without one, the cluster's default.
func storageClass(ctx context.Context, client kubernetes.Interface, name *string) (*storagev1.StorageClass, error) {
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
