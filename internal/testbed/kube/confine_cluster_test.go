package kube

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	admission "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
)

// confine applies a policy of hack/deploy/rbac to the user, under a name that only this test uses.
func (s *someone) confine(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile("../../../hack/deploy/rbac/" + file)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(data), "---\n")
	if len(documents) != 3 {
		t.Fatalf("%s has %d documents", file, len(documents))
	}
	if !strings.Contains(documents[1], `["USER"]`) {
		t.Fatalf("%s has no place for the user", file)
	}
	var policy admission.ValidatingAdmissionPolicy
	var binding admission.ValidatingAdmissionPolicyBinding
	must(t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(documents[1], "USER", "system:serviceaccount:"+s.name+":tare")), &policy))
	must(t, yaml.UnmarshalStrict([]byte(documents[2]), &binding))
	if binding.Spec.PolicyName != policy.Name {
		t.Errorf("%s binds %s, and defines %s", file, binding.Spec.PolicyName, policy.Name)
	}
	name := s.name + "-" + policy.Name
	policy.Name, binding.Name, binding.Spec.PolicyName = name, name, name
	api := allGroups(t, s.cluster).AdmissionregistrationV1()
	if _, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.ValidatingAdmissionPolicies().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.ValidatingAdmissionPolicyBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	if err := s.cluster.Await(t.Context(), "the policy to be checked", time.Minute, func(ctx context.Context) (bool, string, error) {
		got, err := api.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
		if err != nil || got.Status.TypeChecking == nil {
			return false, "", err
		}
		for _, w := range got.Status.TypeChecking.ExpressionWarnings {
			// The checker cannot know the fields of an object of any kind, and warns.
			t.Logf("%s: %s: %s", file, w.FieldRef, w.Warning)
		}
		return true, "", nil
	}); err != nil {
		t.Fatal(err)
	}
}

// foreign makes a namespace of another owner, with one object of every kind in it.
func (s *someone) foreign(t *testing.T, labels map[string]string) string {
	t.Helper()
	core := s.cluster.Client.CoreV1()
	ns, err := core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: s.name + "-foreign-", Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = core.Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{})
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "tare.test/tools:1", Command: []string{"sleep", "1000"}}}}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	if err := s.cluster.Await(t.Context(), "the pod of somebody else", time.Minute, func(ctx context.Context) (bool, string, error) {
		if _, err := core.Pods(ns.Name).Create(ctx, pod.DeepCopy(), metav1.CreateOptions{}); err != nil && !strings.Contains(err.Error(), "already exists") {
			return false, err.Error(), nil // the service account comes a moment later
		}
		got, err := core.Pods(ns.Name).Get(ctx, pod.Name, metav1.GetOptions{})
		return err == nil && got.Status.Phase == corev1.PodRunning, "", err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Services(ns.Name).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.ConfigMaps(ns.Name).Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// Under the shipped policies, the rights of cluster.yaml have no effect outside of Tare's own namespaces, and are
// enough for a run.
func TestConfined(t *testing.T) {
	t.Parallel()
	user := newSomeone(t, "confined")
	e := user.may(t, documented(t, "cluster.yaml", "ClusterRole"), "")
	if want := "nothing confines the rights to namespaces of Tare's own: they hold in every namespace"; e.Reach.Status == testbed.Works || e.Reach.Detail != want {
		t.Errorf("reach of the role alone: %+v", e.Reach)
	}
	foreign, lent := user.foreign(t, nil), user.foreign(t, map[string]string{"tare/lent": "true"})
	mine, err := cluster.Connect(t.Context(), cluster.Options{Kubeconfig: user.kubeconfig}, "", parameters().Timeouts)
	if err != nil {
		t.Fatal(err)
	}
	core, ctx, dryly := mine.Client.CoreV1(), t.Context(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	exec := func(ns string) error {
		_, _, err := mine.Exec(ctx, ns, "theirs", "main", []string{"true"})
		return err
	}
	if err := exec(foreign); err != nil {
		t.Fatalf("without the policy: %v", err) // it would prove nothing
	}
	if err := core.Namespaces().Delete(ctx, foreign, dryly); err != nil {
		t.Fatalf("without the policy: %v", err)
	}
	user.confine(t, "confine.yaml")
	user.confine(t, "unprivileged.yaml")
	if err := user.cluster.Await(ctx, "the policies to be in force", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := core.Namespaces().Delete(ctx, foreign, dryly)
		_, privileged := core.Namespaces().Create(ctx, namespaceOf("tare-x", "privileged"), dryRunOnly)
		return err != nil && privileged != nil, "", nil
	}); err != nil {
		t.Fatal(err)
	}

	const outside, unlabelled, security = "Tare is confined to namespaces of its own, and ", "Tare is confined to namespaces of its own, whose names begin with tare-", "must enforce"
	made := func(err error) error { return err }
	_, podErr := core.Pods(foreign).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}}, metav1.CreateOptions{})
	_, mapErr := core.ConfigMaps(foreign).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	_, patchErr := core.ConfigMaps(foreign).Patch(ctx, "theirs", types.MergePatchType, []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
	_, claimErr := core.PersistentVolumeClaims(foreign).Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
	adopted := namespaceOf(foreign, "restricted")
	_, adoptErr := core.Namespaces().Update(ctx, adopted, metav1.UpdateOptions{})
	create := func(ns *corev1.Namespace) error {
		_, err := core.Namespaces().Create(ctx, ns, metav1.CreateOptions{})
		return err
	}
	plain := namespaceOf("tare-x", "restricted")
	delete(plain.Labels, inventory.OwnerLabel)
	old := namespaceOf("tare-x", "restricted")
	old.Labels["pod-security.kubernetes.io/enforce-version"] = "v1.0"
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"exec":                               {exec(foreign), outside + foreign + " is none"},
		"delete a namespace":                 {core.Namespaces().Delete(ctx, foreign, metav1.DeleteOptions{}), unlabelled},
		"delete kube-public":                 {core.Namespaces().Delete(ctx, "kube-public", dryly), "forbidden"},
		"delete a namespace that is lent":    {core.Namespaces().Delete(ctx, lent, metav1.DeleteOptions{}), unlabelled},
		"adopt a namespace":                  {made(adoptErr), unlabelled},
		"delete a pod":                       {core.Pods(foreign).Delete(ctx, "theirs", metav1.DeleteOptions{}), outside},
		"delete a ConfigMap":                 {core.ConfigMaps(foreign).Delete(ctx, "theirs", metav1.DeleteOptions{}), outside},
		"delete a service":                   {core.Services(foreign).Delete(ctx, "theirs", metav1.DeleteOptions{}), outside},
		"make a pod":                         {made(podErr), outside},
		"make a ConfigMap":                   {made(mapErr), outside},
		"change a ConfigMap":                 {made(patchErr), outside},
		"make a claim":                       {made(claimErr), ""}, // refused for what it is, or by the policy
		"make a namespace of another's name": {create(namespaceOf("mine", "restricted")), unlabelled},
		"make one without labels":            {create(plain), unlabelled},
		"make a privileged namespace":        {create(namespaceOf("tare-x", "privileged")), security + " Pod Security"},
		"make one without a level":           {create(namespaceOf("tare-x", "")), security + " Pod Security"},
		"make one of an old level":           {create(old), security + " the latest version"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", what, c.err, c.want)
		}
	}
	if err := exec(lent); err != nil {
		t.Errorf("exec in a namespace that is lent: %v", err)
	}

	bed := bedOf(t, Options{Kubeconfig: user.kubeconfig})
	e, err = bed.Examine(ctx, "", parameters().Timeouts, Everything(""))
	if want := "an admission policy confines them to namespaces of Tare's own"; err != nil || e.Reach.Status != testbed.Works || e.Reach.Detail != want {
		t.Errorf("reach under the policies: %+v, %v", e.Reach, err)
	}
	needs := experiment.Needs{Network: true, Volume: &experiment.Volume{Size: 1 << 20}}
	findings, err := open(t, bed, "tried", needs, parameters()).Try(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, f := range findings {
		if f.Status != testbed.Works {
			t.Errorf("dry run: %+v", f)
		}
	}
	for _, namespace := range []string{"", lent} {
		level := parameters()
		level.Namespace = namespace
		arm := "own"
		if namespace != "" {
			arm = "lent"
		}
		s := open(t, bed, arm, needs, level)
		s.ShapeNamespace(func(ns *corev1.Namespace) {
			metav1.SetMetaDataAnnotation(&ns.ObjectMeta, "example.com/made-for", "a test")
		})
		if namespace != "" {
			s = open(t, bed, arm, needs, level)
		}
		must(t, s.Ready(ctx))
		sampler := bed.Sampler()
		must(t, sampler.Start(ctx, s))
		transfer(t, s, testbed.PodToService)
		if _, err := sampler.Stop(ctx, 0); err != nil {
			t.Error(err)
		}
		if err := s.Mend(ctx); err != nil {
			t.Error(err)
		}
	}
}

// namespaceOf is a namespace with Tare's labels and a level of Pod Security; "" for none.
func namespaceOf(name, level string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: inventory.NewOwner().Labels("", "")}}
	if level != "" {
		ns.Labels[cluster.EnforceLabel] = level
	}
	return ns
}
