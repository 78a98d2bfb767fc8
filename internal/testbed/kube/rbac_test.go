package kube

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/internal/experiment"
	"tare/internal/test/golden"
)

// These placeholders in the manifests are replaced as the documentation says.
const (
	givenNamespace    = "NAMESPACE"
	observedNamespace = "OBSERVED"
)

// manifests are the files of hack/deploy/rbac, as made from the table of rights.
func manifests() map[string]string {
	files := map[string]string{}
	write := func(file, comment, name string, rights []experiment.Right, keep func(experiment.Right) bool) {
		roles := map[string]string{}
		for _, r := range rights {
			if keep(r) {
				roles[r.Namespace] += fmt.Sprintf("  - apiGroups: [%q]\n    resources: [%s]\n    verbs: [%s]\n", r.Group, r.Resource, strings.Join(r.Verbs, ", "))
			}
		}
		var b strings.Builder
		b.WriteString("# " + strings.ReplaceAll(comment, "\n", "\n# ") + "\n# Made from internal/testbed/kube/rights.go; go test ./internal/testbed/kube -run Manifests -update\n")
		for _, ns := range []string{"", givenNamespace, observedNamespace} {
			if roles[ns] == "" {
				continue
			}
			kind, where := "ClusterRole", ""
			if ns != "" {
				kind, where = "Role", "\n  namespace: "+ns
			}
			fmt.Fprintf(&b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  name: %s%s\nrules:\n%s", kind, name, where, roles[ns])
		}
		files["../../../hack/deploy/rbac/"+file] = b.String()
	}
	needed := func(r experiment.Right) bool { return !r.Optional }
	write("cluster.yaml", "What tare needs to make namespaces of its own: one for each arm. Bind it with\nkubectl create clusterrolebinding tare --clusterrole=tare --user=USER",
		"tare", Rights(Everything("")), needed)
	write("namespace.yaml", "What tare needs in a namespace that is given (testbed.kubernetes.namespace). Replace\nNAMESPACE, and bind both with\nkubectl create rolebinding tare-given -n NAMESPACE --role=tare-given --user=USER\nkubectl create clusterrolebinding tare-given --clusterrole=tare-given --user=USER",
		"tare-given", Rights(Everything(givenNamespace)), needed)
	write("observe.yaml", "What tare needs besides, to observe pods in another namespace (testbed.kubernetes.observe).\nReplace OBSERVED, once for each such namespace, and bind it with\nkubectl create rolebinding tare-observe -n OBSERVED --role=tare-observe --user=USER",
		"tare-observe", Rights(Use{Namespace: givenNamespace, Observe: []string{observedNamespace}}), func(r experiment.Right) bool { return r.Namespace == observedNamespace })
	write("record.yaml", "With these the record of a run tells more: which cluster it was, and the versions of\nnetwork plug-ins, meshes and the like. Runs work without. Bind it with\nkubectl create clusterrolebinding tare-record --clusterrole=tare-record --user=USER",
		"tare-record", Rights(Everything(givenNamespace)), func(r experiment.Right) bool { return r.Optional })
	return files
}

// table is the table in the documentation.
func table() string {
	var b strings.Builder
	b.WriteString("| resource | verbs | where | for |\n|---|---|---|---|\n")
	row := func(r experiment.Right, where string) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name(), strings.Join(r.Verbs, ", "), where, r.Why)
	}
	for _, r := range Rights(Everything("")) {
		switch {
		case r.Optional:
			row(r, "cluster, optional")
		case r.Resource == "namespaces":
			row(r, "cluster; not with a namespace given")
		case r.Resource == "nodes":
			row(r, "cluster")
		default:
			row(r, "the arms' namespaces")
		}
	}
	for _, r := range Rights(Use{Namespace: "x", Observe: []string{observedNamespace}}) {
		if r.Namespace == observedNamespace {
			row(r, "the observed namespaces")
		}
	}
	return b.String()
}

// The manifests and the documentation agree with the table of rights.
func TestManifests(t *testing.T) {
	for path, want := range manifests() {
		golden.Check(t, path, want)
	}
	const page, begin, end = "../../../docs/cluster.md", "<!-- rights: made from internal/testbed/kube/rights.go -->\n", "<!-- end of rights -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table of rights, between %q and %q", page, begin, end)
	}
	golden.Check(t, page, before+begin+table()+end+after)
}

func TestRights(t *testing.T) {
	names := func(u Use) string {
		var list []string
		for _, r := range Rights(u) {
			name := r.Name()
			if r.Namespace != "" {
				name = r.Namespace + ":" + name
			}
			if r.Optional {
				name += "?"
			}
			list = append(list, name)
		}
		return strings.Join(list, " ")
	}
	for _, c := range []struct {
		name string
		use  Use
		want string
	}{
		{"own namespaces", Use{}, "namespaces nodes configmaps jobs.batch pods pods/exec pods/log events daemonsets.apps? deployments.apps?"},
		{"a network and a volume", Use{Network: true, Volume: true},
			"namespaces nodes configmaps jobs.batch pods pods/exec pods/log events services persistentvolumeclaims persistentvolumes? daemonsets.apps? deployments.apps?"},
		{"a namespace given", Use{Namespace: "bench", Network: true},
			"nodes bench:configmaps bench:jobs.batch bench:pods bench:pods/exec bench:pods/log bench:events bench:services namespaces? daemonsets.apps? deployments.apps?"},
		{"observed pods", Use{Observe: []string{"kube-system", "istio-system"}},
			"namespaces nodes configmaps jobs.batch pods pods/exec pods/log events kube-system:pods istio-system:pods daemonsets.apps? deployments.apps?"},
		{"the API server observed", Use{Server: true}, "namespaces nodes configmaps jobs.batch pods pods/exec pods/log events /metrics daemonsets.apps? deployments.apps?"},
		{"rights of layers, one of them on what the testbed uses too", Use{More: []experiment.Right{
			{Resource: "pods", Verbs: []string{"patch", "get"}, Why: "w"}, {Group: "crd.antrea.io", Resource: "policies", Verbs: []string{"create"}},
			{Group: "apps", Resource: "deployments", Verbs: []string{"create"}}}},
			"namespaces nodes configmaps jobs.batch pods pods/exec pods/log events policies.crd.antrea.io deployments.apps daemonsets.apps?"},
	} {
		if got := names(c.use); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	for _, r := range Rights(Use{More: []experiment.Right{{Resource: "pods", Verbs: []string{"patch", "get"}, Why: "w"}}}) {
		if r.Resource == "pods" {
			if got, want := strings.Join(r.Verbs, " ")+": "+r.Why, "create delete get patch: programs run in pods; w"; got != want {
				t.Errorf("merged: %q, want %q", got, want)
			}
		}
	}
}
