package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/experiment/quantity"
	"tare/internal/testbed/kube/cluster"
)

// If Tare's machine is lost, the cluster itself removes the run's objects. Each namespace of the run has a Job without
// pods, the deadline, which owns the run's objects there. A living run extends the Job's end (activeDeadlineSeconds)
// again and again. Kubernetes deletes an ended Job (ttlSecondsAfterFinished: 0), and then all objects that the Job
// owns. Namespaces, and objects outside of the run's namespaces, remain. They use no resources, and the record lists
// them.

type deadline struct {
	owner   metav1.OwnerReference
	made    time.Time
	seconds int64 // time from the Job's start to its end, in seconds
}

type expiredError struct {
	namespace string
	silence   time.Duration
}

func (e *expiredError) Error() string {
	return fmt.Sprintf("the objects of this run in namespace %s are removed, by tare clean or because the run had sent "+
		"nothing to the cluster for %v (was this machine asleep, or the cluster out of reach?): nothing more is made; "+
		"start it again with tare resume", e.namespace, quantity.Duration(e.silence))
}

func (e *expiredError) Is(target error) bool { return target == ErrCleaned }

func (o Owner) deadlineName() string { return "tare-" + string(o) + "-deadline" }

// AddDeadline makes the deadline of a namespace, a Job, unless it exists. The Job starts no pod, but policies of the
// cluster may check its image.
func (r *Record) AddDeadline(ctx context.Context, namespace, image string) error {
	r.addingDeadline.Lock()
	defer r.addingDeadline.Unlock()
	if r.deadline(namespace) != nil {
		return nil
	}
	name := r.owner.deadlineName()
	item := Item{Group: batchv1.GroupName, Version: "v1", Resource: "jobs", Namespace: namespace, Name: name}
	if err := r.Add(ctx, item); err != nil {
		return err
	}
	d := &deadline{made: time.Now(), seconds: seconds(r.limits.Silence.Std())}
	job, err := Make(ctx, r, r.on.Client.BatchV1().Jobs(namespace), r.planDeadline(namespace, image, d.seconds))
	if err != nil {
		return fmt.Errorf("make Job %s/%s, by which the cluster removes the objects of a lost run: %w",
			namespace, name, cluster.Explain(err))
	}
	d.owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}
	r.mu.Lock()
	defer r.mu.Unlock()

	r.deadlines[namespace] = d
	return nil
}

// planDeadline returns the Job that is a namespace's deadline. The Job starts no pod, but must meet the Pod Security
// level restricted.
func (r *Record) planDeadline(namespace, image string, seconds int64) *batchv1.Job {
	labels := r.owner.Labels("", "deadline")
	little := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}
	container := corev1.Container{
		Name: "never-started", Image: image, Resources: corev1.ResourceRequirements{Requests: little, Limits: little},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	pod := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
		Containers: []corev1.Container{container},
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: r.owner.deadlineName(), Namespace: namespace, Labels: labels},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(0)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			ActiveDeadlineSeconds: &seconds, TTLSecondsAfterFinished: new(int32(0)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}, Spec: pod},
		},
	}
}

func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func (r *Record) deadline(namespace string) *deadline {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deadlines[namespace]
}

// Owners returns the owner references for the run's objects in a namespace. The owner is the namespace's deadline; nil:
// the namespace has none.
func (r *Record) Owners(namespace string) []metav1.OwnerReference {
	if d := r.deadline(namespace); d != nil {
		return []metav1.OwnerReference{d.owner}
	}
	return nil
}

// SetOwner makes the deadline of the namespace an owner of an object that is about to be made.
func (r *Record) SetOwner(object metav1.Object) {
	for _, o := range r.Owners(object.GetNamespace()) {
		others := slices.DeleteFunc(object.GetOwnerReferences(), func(a metav1.OwnerReference) bool {
			return a.Kind == o.Kind && a.Name == o.Name
		})
		object.SetOwnerReferences(append(others, o))
	}
}

// extendAll extends the deadlines of all namespaces. It keeps the error of a deadline that has passed for Present, and
// ignores temporary errors.
func (r *Record) extendAll(ctx context.Context) {
	r.mu.Lock()
	namespaces := slices.Collect(maps.Keys(r.deadlines))
	r.mu.Unlock()
	for _, namespace := range namespaces {
		if err := r.extend(ctx, namespace); errors.Is(err, ErrCleaned) {
			r.mu.Lock()
			r.cleaned = cmp.Or(r.cleaned, err)
			r.mu.Unlock()
		}
	}
}

func (r *Record) extend(ctx context.Context, namespace string) error {
	d := r.deadline(namespace)
	// The monotonic clock stops while this machine sleeps. The wall clock may be set back. The larger of the two ages
	// is right.
	age := max(time.Since(d.made), time.Now().Round(0).Sub(d.made.Round(0)))
	due := max(d.seconds, seconds(age+r.limits.Silence.Std()))
	patch := fmt.Appendf(nil, `{"spec":{"activeDeadlineSeconds":%d}}`, due)
	jobs := r.on.Client.BatchV1().Jobs(namespace)
	job, err := jobs.Patch(ctx, d.owner.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || err == nil && hasEnded(job) {
		return &expiredError{namespace, r.limits.Silence.Std()}
	}
	if err == nil {
		d.seconds = due
	}
	return err
}

func hasEnded(job *batchv1.Job) bool {
	return job.DeletionTimestamp != nil || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget)
	})
}
