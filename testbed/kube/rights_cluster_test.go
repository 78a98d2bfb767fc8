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

	"tare/experiment"
	"tare/testbed"
	"tare/testbed/kube/kubetest"
)

// someone is a user of the test cluster with the rights of one ClusterRole.
type someone struct {
	cluster    *Cluster // as the administrator
	kubeconfig string
	name       string
}

// newSomeone makes a service account with a ClusterRole of the same name, and a
// kubeconfig for it.
func newSomeone(t *testing.T, name string) *someone {
	t.Helper()
	admin := kubetest.Kubeconfig(t)
	c, err := connect(t.Context(), Options{Kubeconfig: admin}, "", parameters().Timeouts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	ns, err := c.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &someone{cluster: c, name: ns.Name, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	meta := metav1.ObjectMeta{Name: ns.Name}
	t.Cleanup(func() {
		ctx := context.Background()
		_ = c.Client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoles().Delete(ctx, ns.Name, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoleBindings().Delete(ctx, ns.Name, metav1.DeleteOptions{})
	})
	accounts := c.Client.CoreV1().ServiceAccounts(ns.Name)
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tare"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(ctx, &rbac.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Client.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta,
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
	if err := clientcmd.WriteToFile(*config, s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return s
}

// may gives the user these rights and no others, and waits until the API server
// goes by them.
func (s *someone) may(t *testing.T, rules []rbac.PolicyRule, denied string) Examination {
	t.Helper()
	roles := s.cluster.Client.RbacV1().ClusterRoles()
	if _, err := roles.Update(t.Context(), &rbac.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.name}, Rules: rules}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	bed, err := New(Options{Kubeconfig: s.kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	var e Examination
	err = bed.await(t.Context(), "the rights to be in force", time.Minute, func(ctx context.Context) (bool, string, error) {
		e, err = bed.Examine(ctx, "", parameters().Timeouts, Everything(""))
		return err == nil && notAllowed(e) == denied, notAllowed(e), err
	})
	if err != nil {
		t.Fatalf("doctor does not say that %q is refused, and nothing else: %v", denied, err)
	}
	return e
}

// notAllowed names what an examination found refused, of what a run needs.
func notAllowed(e Examination) string {
	var list []string
	for _, f := range e.Findings {
		if f.Status != testbed.Works {
			verbs, _, _ := strings.Cut(f.Detail, " refused")
			list = append(list, f.Name+": "+verbs)
		}
	}
	return strings.Join(list, "; ")
}

// documented reads the rules of the first role in a file of deploy/rbac.
func documented(t *testing.T, file string) []rbac.PolicyRule {
	t.Helper()
	data, err := os.ReadFile("../../deploy/rbac/" + file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "---\n")
	var role rbac.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(text), &role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%s: %v", file, err)
	}
	return role.Rules
}

// With exactly the documented role everything works that a run does; with one
// verb less, doctor names it.
func TestDocumentedRights(t *testing.T) {
	user := newSomeone(t, "rights")
	rules := documented(t, "cluster.yaml")
	user.may(t, rules, "")

	bed, err := New(Options{Kubeconfig: user.kubeconfig, Version: "test", Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		nothingLeft(t, bed.owner)
	})
	level := parameters()
	level.Accounting = experiment.OnNode
	site := open(t, bed, "plain", experiment.Needs{Network: true, HostNetwork: true, Volume: &experiment.Volume{Size: 1 << 20}}, level)
	site.ShapeNamespace(func(ns *corev1.Namespace) {
		metav1.SetMetaDataAnnotation(&ns.ObjectMeta, "example.com/made-for", "a test")
	})
	if findings, err := open(t, bed, "tried", experiment.Needs{Network: true}, level).Try(t.Context()); err != nil || slices.ContainsFunc(findings, func(f testbed.Finding) bool { return f.Status != testbed.Works }) {
		t.Errorf("dry runs: %+v, %v", findings, err)
	}
	if err := site.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if clusters, err := bed.Describe(t.Context()); err != nil || len(clusters) != 1 || clusters[0].Components != nil || clusters[0].UID == "" {
		t.Errorf("described as %+v, %v", clusters, err)
	}
	sampler := bed.Sampler()
	if err := sampler.Start(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, site, testbed.ClientPod, "iperf3", "--version"); err != nil {
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
			e := user.may(t, less, fmt.Sprintf("right to %s: %s", rule.Resources[0], verb))
			for _, f := range e.Findings {
				if want := "--serviceaccount=" + user.name + ":tare"; f.Status != testbed.Works && !strings.HasSuffix(f.Hint, want) {
					t.Errorf("without %s %s the hint is %q, want one that ends in %q", verb, rule.Resources[0], f.Hint, want)
				}
			}
		}
	}
}
