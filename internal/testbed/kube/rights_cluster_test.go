package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/kubetest"
)

// someone is a user of the test cluster with the rights of one ClusterRole.
type someone struct {
	cluster    *cluster.Cluster // as the administrator
	kubeconfig string
	name       string
}

// newSomeone makes a service account with a ClusterRole of the same name, and a
// kubeconfig for it.
func newSomeone(t *testing.T, name string) *someone {
	t.Helper()
	admin := kubetest.Kubeconfig(t)
	c, ctx := connected(t), t.Context()
	ns, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &someone{cluster: c, name: ns.Name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	meta := metav1.ObjectMeta{Name: ns.Name}
	t.Cleanup(func() {
		ctx := context.Background()
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
		_ = allGroups(t, c).RbacV1().ClusterRoles().Delete(ctx, ns.Name, metav1.DeleteOptions{})
		_ = allGroups(t, c).RbacV1().ClusterRoleBindings().Delete(ctx, ns.Name, metav1.DeleteOptions{})
	})
	accounts := c.Client.CoreV1().ServiceAccounts(ns.Name)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tare"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := allGroups(t, c).RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := allGroups(t, c).RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta,
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: ns.Name},
		Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: ns.Name, Name: "tare"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(ctx, "tare", &authentication.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(admin)
	if err != nil {
		t.Fatal(err)
	}
	who := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	who.ClientCertificateData, who.ClientKeyData, who.Token = nil, nil, token.Status.Token
	must(t, clientcmd.WriteToFile(*config, s.kubeconfig))
	return s
}

// may gives the user exactly these rights, and waits until the API server applies them.
func (s *someone) may(t *testing.T, rules []rbac.PolicyRule, denied string) examination {
	t.Helper()
	return s.allowed(t, rules, denied, Everything(""))
}

// allowed calls may with the rights for a use of the cluster.
func (s *someone) allowed(t *testing.T, rules []rbac.PolicyRule, denied string, use Use) examination {
	t.Helper()
	roles := allGroups(t, s.cluster).RbacV1().ClusterRoles()
	if _, err := roles.Update(t.Context(), &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Rules: rules}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	bed, err := New(Options{Kubeconfig: s.kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	var e examination
	err = s.cluster.Await(t.Context(), "the rights to be in force", time.Minute, func(ctx context.Context) (bool, string, error) {
		e, err = bed.Examine(ctx, "", parameters().Timeouts, use)
		return err == nil && notAllowed(e) == denied, notAllowed(e), err
	})
	if err != nil {
		t.Fatalf("doctor does not say that %q is refused, and nothing else: %v", denied, err)
	}
	return e
}

// notAllowed names the required rights that an examination found missing.
func notAllowed(e examination) string {
	var list []string
	for _, f := range e.Findings {
		if f.Status != testbed.Works {
			verbs, _, _ := strings.Cut(f.Detail, " refused")
			list = append(list, f.Name+": "+verbs)
		}
	}
	return strings.Join(list, "; ")
}

// documented reads the rules of a role from a file of hack/deploy/rbac.
func documented(t *testing.T, file, kind string) []rbac.PolicyRule {
	t.Helper()
	data, err := os.ReadFile("../../../hack/deploy/rbac/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split(string(data), "---\n")[1:] {
		var role rbac.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if role.Kind == kind && len(role.Rules) > 0 {
			return role.Rules
		}
	}
	t.Fatalf("%s has no %s", file, kind)
	return nil
}

// In a namespace that the experiment names, the documented Role is enough, with the right to read nodes. Observed
// pods need one more Role.
func TestDocumentedRightsInANamespace(t *testing.T) {
	t.Parallel()
	user := newSomeone(t, "given")
	clusterwide := documented(t, "namespace.yaml", "ClusterRole")
	roles := map[string][]rbac.PolicyRule{user.name: documented(t, "namespace.yaml", "Role"), "kube-system": documented(t, "observe.yaml", "Role")}
	for ns, rules := range roles {
		meta := metav1.ObjectMeta{Name: user.name}
		_, err1 := allGroups(t, user.cluster).RbacV1().Roles(ns).Create(t.Context(), &rbac.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
		_, err2 := allGroups(t, user.cluster).RbacV1().RoleBindings(ns).Create(t.Context(), &rbac.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "Role", Name: user.name},
			Subjects: []rbac.Subject{{Kind: "ServiceAccount", Namespace: user.name, Name: "tare"}}}, metav1.CreateOptions{})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		t.Cleanup(func() {
			_ = allGroups(t, user.cluster).RbacV1().RoleBindings(ns).Delete(context.Background(), user.name, metav1.DeleteOptions{})
			_ = allGroups(t, user.cluster).RbacV1().Roles(ns).Delete(context.Background(), user.name, metav1.DeleteOptions{})
		})
	}
	level := parameters()
	level.Namespace, level.Accounting = user.name, experiment.OnNode
	level.Observe = []experiment.Observe{{Name: "dns", Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-dns"}}}
	user.allowed(t, clusterwide, "", Everything(user.name, "kube-system"))

	bed := bedOf(t, Options{Kubeconfig: user.kubeconfig})
	site := ready(t, bed, "plain", experiment.Needs{Network: true, HostNetwork: true, Volume: &experiment.Volume{Size: 1 << 20}}, level)
	if _, err := bed.Describe(t.Context()); err != nil {
		t.Error(err)
	}
	sampler := bed.Sampler()
	must(t, sampler.Start(t.Context(), site))
	if got, err := sampler.Stop(t.Context(), 0); err != nil || got.Conditions.ForeignCPU < 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// With exactly the documented role, a run can do everything that it needs. If one verb is missing, doctor names it.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	user := newSomeone(t, "rights")
	rules := documented(t, "cluster.yaml", "ClusterRole")
	user.may(t, rules, "")

	bed := bedOf(t, Options{Kubeconfig: user.kubeconfig})
	level := parameters()
	level.Accounting = experiment.OnNode
	site := open(t, bed, "plain", experiment.Needs{Network: true, HostNetwork: true, Volume: &experiment.Volume{Size: 1 << 20}}, level)
	site.ShapeNamespace(func(ns *corev1.Namespace) {
		metav1.SetMetaDataAnnotation(&ns.ObjectMeta, "example.com/made-for", "a test")
	})
	if findings, err := open(t, bed, "tried", experiment.Needs{Network: true}, level).Try(t.Context()); err != nil || slices.ContainsFunc(findings, func(f testbed.Finding) bool { return f.Status != testbed.Works }) {
		t.Errorf("dry runs: %+v, %v", findings, err)
	}
	must(t, site.Ready(t.Context()))
	if clusters, err := bed.Describe(t.Context()); err != nil || len(clusters) != 1 || clusters[0].Components != nil || clusters[0].UID == "" {
		t.Errorf("described as %+v, %v", clusters, err)
	}
	sampler := bed.Sampler()
	must(t, sampler.Start(t.Context(), site))
	if _, err := runIn(t, site, testbed.ClientPod, "iperf3", "--version"); err != nil {
		t.Error(err)
	}
	if _, err := sampler.Stop(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := site.Mend(t.Context()); err != nil {
		t.Error(err)
	}
	if err := bed.Close(); err != nil {
		t.Error(err)
	}

	for i, rule := range rules {
		for j, verb := range rule.Verbs {
			if j > 0 && !slices.Contains([]string{"pods/exec"}, rule.Resources[0]) {
				continue // one verb of each resource, and both of exec
			}
			less := slices.Clone(rules)
			if less[i].Verbs = slices.Delete(slices.Clone(rule.Verbs), j, j+1); len(less[i].Verbs) == 0 {
				less = slices.Delete(less, i, i+1)
			}
			what := experiment.Right{Group: rule.APIGroups[0], Resource: rule.Resources[0]}
			e := user.may(t, less, fmt.Sprintf("right to %s: %s", what.Name(), verb))
			for _, f := range e.Findings {
				if want := "--serviceaccount=" + user.name + ":tare"; f.Status != testbed.Works && !strings.HasSuffix(f.Hint, want) {
					t.Errorf("without %s %s the hint is %q, want one that ends in %q", verb, rule.Resources[0], f.Hint, want)
				}
			}
		}
	}
}
