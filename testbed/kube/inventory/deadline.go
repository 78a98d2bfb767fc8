package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/experiment/quantity"
	"tare/testbed/kube/cluster"
)

// Nobody cleans up after a machine that is lost. So the cluster does it, by what every
// cluster has: in each namespace that a run uses there is a Job without pods, the
// deadline, that owns all that the run makes there. The Job ends when its time is over
// (activeDeadlineSeconds), which a living run puts off again and again. Then it is deleted
// (ttlSecondsAfterFinished: 0), and the garbage collector deletes what it owned: pods with
// whatever sidecars they have, controllers and what those have made, services, claims.
// What remains takes no resources: the record, namespaces, and what was applied outside
// of the run's namespaces, which is in the record.

// deadline is the Job in one namespace.
type deadline struct {
	owner   metav1.OwnerReference
	made    time.Time
	seconds int64 // after which it ends, from its start
}

// expiredError ends a run whose deadline is over.
type expiredError struct {
	namespace string
	silence   time.Duration
}

// Error says what has become of the run.
func (e *expiredError) Error() string {
	return fmt.Sprintf("what this run has made in namespace %s is removed, by tare clean or because the cluster had not heard of the run for %v (was this machine asleep, or the cluster out of reach?): nothing more is made; start it again with tare resume", e.namespace, quantity.Duration(e.silence))
}

// Is says that it is ErrCleaned.
func (e *expiredError) Is(target error) bool { return target == ErrCleaned }

// deadlineName is that of the session's deadlines.
func (o Owner) deadlineName() string { return "tare-" + string(o) + "-deadline" }

// Guard has everything that the run makes in a namespace from now on removed by the
// cluster should the run be lost. The image is the one that the run's pods have: the Job
// starts none, but policies may look at it.
func (r *Record) Guard(ctx context.Context, namespace, image string) error {
	r.guarding.Lock()
	defer r.guarding.Unlock()
	if r.deadline(namespace) != nil {
		return nil
	}
	name := r.owner.deadlineName()
	if err := r.Add(ctx, Item{Group: batchv1.GroupName, Version: "v1", Resource: "jobs", Namespace: namespace, Name: name}); err != nil {
		return err
	}
	d := &deadline{made: time.Now(), seconds: seconds(r.limits.Silence.Std())}
	job, err := Make(ctx, r, r.on.Client.BatchV1().Jobs(namespace), r.planDeadline(namespace, image, d.seconds))
	if err != nil {
		return fmt.Errorf("make Job %s/%s, by which the cluster removes what a lost run has made: %w", namespace, name, cluster.Explain(err))
	}
	d.owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deadlines == nil {
		r.deadlines = map[string]*deadline{}
	}
	r.deadlines[namespace] = d
	return nil
}

// planDeadline is the Job. Its pod, which never is, meets the level restricted of Pod
// Security.
func (r *Record) planDeadline(namespace, image string, seconds int64) *batchv1.Job {
	little := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: r.owner.deadlineName(), Namespace: namespace, Labels: r.owner.Labels("", "deadline")},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(0)), Completions: new(int32(1)), BackoffLimit: new(int32(0)),
			ActiveDeadlineSeconds: &seconds, TTLSecondsAfterFinished: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: r.owner.Labels("", "deadline")},
				Spec: corev1.PodSpec{
					RestartPolicy:                corev1.RestartPolicyNever,
					AutomountServiceAccountToken: new(false),
					SecurityContext:              &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers: []corev1.Container{{
						Name: "never-started", Image: image,
						Resources:       corev1.ResourceRequirements{Requests: little, Limits: little},
						SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
					}},
				},
			},
		},
	}
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func (r *Record) deadline(namespace string) *deadline {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deadlines[namespace]
}

// Owners are those that an object of the run's in a namespace is to name; nil in a
// namespace that is not guarded.
func (r *Record) Owners(namespace string) []metav1.OwnerReference {
	if d := r.deadline(namespace); d != nil {
		return []metav1.OwnerReference{d.owner}
	}
	return nil
}

// Own has an object that is about to be made go with the deadline of its namespace.
func (r *Record) Own(object metav1.Object) {
	for _, o := range r.Owners(object.GetNamespace()) {
		others := slices.DeleteFunc(object.GetOwnerReferences(), func(a metav1.OwnerReference) bool { return a.Kind == o.Kind && a.Name == o.Name })
		object.SetOwnerReferences(append(others, o))
	}
}

// renewals is how often a living run puts its deadlines off within the time that it may be
// silent, and longestRenewal the longest pause between two.
const (
	renewals       = 6
	longestRenewal = 5 * time.Minute
)

// pauseBetween is the pause between two renewals.
func (r *Record) pauseBetween() time.Duration {
	return max(min(r.limits.Silence.Std()/renewals, longestRenewal), time.Second)
}

// putOff puts the deadlines off. It may fail now and then; but when one is over, that is
// remembered.
func (r *Record) putOff(ctx context.Context) {
	r.mu.Lock()
	var namespaces []string
	for namespace := range r.deadlines {
		namespaces = append(namespaces, namespace)
	}
	r.mu.Unlock()
	for _, namespace := range namespaces {
		if err := r.putOffOne(ctx, namespace); errors.Is(err, ErrCleaned) {
			r.mu.Lock()
			if r.cleaned == nil {
				r.cleaned = err
			}
			r.mu.Unlock()
		}
	}
}

func (r *Record) putOffOne(ctx context.Context, namespace string) error {
	d := r.deadline(namespace)
	// The clock of the wall goes on while this machine is asleep, and may be set back.
	age := max(time.Since(d.made), time.Now().Round(0).Sub(d.made.Round(0)))
	due := max(d.seconds, seconds(age+r.limits.Silence.Std()))
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"activeDeadlineSeconds": due}})
	if err != nil {
		return err
	}
	job, err := r.on.Client.BatchV1().Jobs(namespace).Patch(ctx, d.owner.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || err == nil && over(job) {
		return &expiredError{namespace, r.limits.Silence.Std()}
	}
	if err == nil {
		d.seconds = due
	}
	return err
}

// over says whether a deadline has ended, so that what it owns is being removed.
func over(job *batchv1.Job) bool {
	return job.DeletionTimestamp != nil || slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget)
	})
}
