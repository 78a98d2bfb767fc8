package inventory

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// guarded is a record with a deadline in the given namespace. It does not renew the deadline by itself.
func guarded(t *testing.T) *Record {
	t.Helper()
	c := fakeCluster(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "given"}})
	r := recordOn(t, "", c)
	if err := r.AddDeadline(t.Context(), "given", "tare:1"); err != nil {
		t.Fatal(err)
	}
	return r
}

func job(t *testing.T, r *Record) *batchv1.Job {
	t.Helper()
	j, err := r.on.Client.BatchV1().Jobs("given").Get(t.Context(), "tare-"+string(r.owner)+"-deadline", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The deadline's Job is in the record, starts no pods, and ends by itself. Objects in its namespace are deleted with
// it.
func TestGuard(t *testing.T) {
	r := guarded(t)
	j := job(t, r)
	if s := j.Spec; *s.Parallelism != 0 || *s.ActiveDeadlineSeconds != 3600 || *s.TTLSecondsAfterFinished != 0 || !r.owner.Owns(j) {
		t.Errorf("%+v", s)
	}
	if len(r.items) != 1 || r.items[0].String() != "jobs.batch/"+j.Name+" in namespace given" {
		t.Errorf("on record: %v", r.items)
	}
	if err := r.AddDeadline(t.Context(), "given", "tare:1"); err != nil {
		t.Error(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "given", OwnerReferences: []metav1.OwnerReference{
		{Kind: "Job", Name: j.Name, UID: "of an earlier one"}, {Kind: "Lease", Name: "another"}}}}
	r.SetOwner(pod)
	if got := pod.OwnerReferences; len(got) != 2 || got[0].Name != "another" || got[1].Name != j.Name || got[1].UID != j.UID || got[1].Controller != nil {
		t.Errorf("%+v", got)
	}
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "other"}}
	if r.SetOwner(other); other.OwnerReferences != nil {
		t.Errorf("an owner in another namespace: %+v", other.OwnerReferences)
	}
}

// A renewed deadline is an hour from now, by the clock that is ahead of the others, and never earlier than before.
func TestPutOff(t *testing.T) {
	r := guarded(t)
	d := r.deadline("given")
	for _, test := range []struct {
		name        string
		made        time.Time
		least, most int64
	}{
		{"after half an hour", time.Now().Add(-30 * time.Minute), 5400, 5460},
		{"the clock was set back", time.Now().Add(24 * time.Hour).Round(0), 5400, 5460},
		{"after a sleep, which only the clock of the wall counts", time.Now().Add(-time.Hour).Round(0), 7200, 7260},
	} {
		d.made = test.made
		r.extendAll(t.Context())
		if got := *job(t, r).Spec.ActiveDeadlineSeconds; got < test.least || got > test.most || r.Present() != nil {
			t.Errorf("%s: %d s, want %d or a little more; %v", test.name, got, test.least, r.Present())
		}
	}
}

// A deadline that has passed ends the run.
func TestDeadlineOver(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		"failed": func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		},
		"being deleted": func(j *batchv1.Job) {
			j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"foregroundDeletion"}
		},
		"gone": nil,
	} {
		r := guarded(t)
		jobs := r.on.Client.BatchV1().Jobs("given")
		j := job(t, r)
		var err error
		if change == nil {
			err = jobs.Delete(t.Context(), j.Name, metav1.DeleteOptions{})
		} else {
			change(j)
			_, err = jobs.Update(t.Context(), j, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		r.extendAll(t.Context())
		if err := r.Present(); !errors.Is(err, ErrCleaned) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
