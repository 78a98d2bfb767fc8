package kube

import (
	"errors"
	"strings"
	"testing"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"tare/internal/experiment"
	"tare/internal/testbed"
)

// reviewer is an API server that knows the user, and refuses the rights for which refused returns true.
func reviewer(user string, refused func(*authorization.ResourceAttributes) (reason string, no bool)) *fake.Clientset {
	c := fake.NewClientset()
	c.PrependReactor("create", "selfsubjectaccessreviews", func(a kubetesting.Action) (bool, runtime.Object, error) {
		r := a.(kubetesting.CreateAction).GetObject().(*authorization.SelfSubjectAccessReview).DeepCopy()
		var no bool
		asked := r.Spec.ResourceAttributes
		if path := r.Spec.NonResourceAttributes; path != nil {
			asked = &authorization.ResourceAttributes{Verb: path.Verb, Resource: path.Path}
		}
		r.Status.Reason, no = refused(asked)
		r.Status.Allowed = !no
		return true, r, nil
	})
	c.PrependReactor("create", "selfsubjectreviews", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, &authentication.SelfSubjectReview{Status: authentication.SelfSubjectReviewStatus{UserInfo: authentication.UserInfo{Username: user}}}, nil
	})
	return c
}

func TestAccess(t *testing.T) {
	pods := experiment.Right{Resource: "pods", Verbs: []string{"create", "get"}, Why: "programs run in pods"}
	for _, c := range []struct {
		name    string
		right   experiment.Right
		user    string
		refused func(*authorization.ResourceAttributes) (string, bool)
		want    testbed.Finding
	}{
		{name: "allowed", right: pods, refused: func(*authorization.ResourceAttributes) (string, bool) { return "RBAC: allowed", false },
			want: testbed.Finding{Name: "right to pods", Status: testbed.Works, Detail: "create, get"}},
		{name: "one verb refused, without a reason", right: pods, user: "jane",
			refused: func(a *authorization.ResourceAttributes) (string, bool) { return "", a.Verb == "create" },
			want: testbed.Finding{Name: "right to pods", Status: testbed.Refused, Detail: "create refused; needed because programs run in pods",
				Hint: "kubectl create clusterrole tare-pods --verb=create,get --resource=pods && kubectl create clusterrolebinding tare-pods --clusterrole=tare-pods --user=jane"}},
		{name: "in a namespace, of a service account, all verbs for one reason", user: "system:serviceaccount:ci:tare",
			right: experiment.Right{Group: "apps", Resource: "deployments/scale", Verbs: []string{"patch", "update"}, Namespace: "bench", Why: "w"},
			refused: func(a *authorization.ResourceAttributes) (string, bool) {
				return "no policy\x1b[2J matched", a.Subresource == "scale" && a.Group == "apps" && a.Namespace == "bench"
			},
			want: testbed.Finding{Name: "right to deployments.apps/scale in namespace bench", Status: testbed.Refused,
				Detail: "patch, update refused; needed because w (no policy matched)",
				Hint:   "kubectl create role tare-deployments-apps-scale -n bench --verb=patch,update --resource=deployments.apps/scale && kubectl create rolebinding tare-deployments-apps-scale -n bench --role=tare-deployments-apps-scale --serviceaccount=ci:tare"}},
		{name: "optional, of a user with a hostile name", user: "o'neil; rm -rf ~\x1b", right: experiment.Right{Resource: "namespaces", Verbs: []string{"get"}, Why: "w", Optional: true},
			refused: func(*authorization.ResourceAttributes) (string, bool) { return "", true },
			want: testbed.Finding{Name: "right to namespaces", Status: testbed.Refused, Detail: "get refused; without it less is recorded: w",
				Hint: `kubectl create clusterrole tare-namespaces --verb=get --resource=namespaces && kubectl create clusterrolebinding tare-namespaces --clusterrole=tare-namespaces --user='o'\''neil; rm -rf ~\u001b'`}},
		{name: "of a user who is not told", right: experiment.Right{Resource: "namespaces", Verbs: []string{"get"}},
			refused: func(*authorization.ResourceAttributes) (string, bool) { return "", true },
			want: testbed.Finding{Name: "right to namespaces", Status: testbed.Refused, Detail: "get refused; needed because ",
				Hint: `kubectl create clusterrole tare-namespaces --verb=get --resource=namespaces && kubectl create clusterrolebinding tare-namespaces --clusterrole=tare-namespaces --user=USER`}},
		{name: "to a path of the API server", user: "jane", right: experiment.Right{Resource: "/metrics", Verbs: []string{"get"}, Why: "w"},
			refused: func(a *authorization.ResourceAttributes) (string, bool) { return "", a.Resource == "/metrics" },
			want: testbed.Finding{Name: "right to /metrics", Status: testbed.Refused, Detail: "get refused; needed because w",
				Hint: `kubectl create clusterrole tare-metrics --verb=get --non-resource-url=/metrics && kubectl create clusterrolebinding tare-metrics --clusterrole=tare-metrics --user=jane`}},
	} {
		got, err := access(t.Context(), reviewer(c.user, c.refused), []experiment.Right{c.right})
		if err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", c.name, got, err, c.want)
		}
	}
}

// Each missing right is named, and no other right.
func TestAccessNamesWhatIsMissing(t *testing.T) {
	for _, u := range []Use{Everything(""), Everything("bench", "kube-system")} {
		rights := Rights(u)
		for _, missing := range rights {
			resource, sub, _ := strings.Cut(missing.Resource, "/")
			got, err := access(t.Context(), reviewer("jane", func(a *authorization.ResourceAttributes) (string, bool) {
				return "", a.Group == missing.Group && a.Resource == resource && a.Subresource == sub && a.Namespace == missing.Namespace && a.Verb == missing.Verbs[0]
			}), rights)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range got {
				if want := i == indexOf(rights, missing); (f.Status == testbed.Refused) != want || want && !strings.HasPrefix(f.Detail, missing.Verbs[0]+" refused; ") {
					t.Errorf("without %s %s: %+v", missing.Verbs[0], objects(missing), f)
				}
			}
		}
	}
}

func indexOf(rights []experiment.Right, of experiment.Right) int {
	for i, r := range rights {
		if objects(r) == objects(of) {
			return i
		}
	}
	return -1
}

func TestAccessUnanswered(t *testing.T) {
	c := fake.NewClientset()
	c.PrependReactor("create", "selfsubjectaccessreviews", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcd is away")
	})
	_, err := access(t.Context(), c, Rights(Everything("")))
	if err == nil || !strings.Contains(err.Error(), "ask for the right to create namespaces: etcd is away") {
		t.Error(err)
	}
}
