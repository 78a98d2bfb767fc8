package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/text/safetext"
)

// access checks whether the kubeconfig's user has the rights. The hint of a missing right is the command to grant it.
func access(ctx context.Context, client cluster.Client, rights []experiment.Right) ([]testbed.Finding, error) {
	user := ""
	self, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil {
		user = self.Status.UserInfo.Username
	}
	findings, errs := make([]testbed.Finding, len(rights)), make([]error, len(rights))
	var reviews errgroup.Group
	reviews.SetLimit(8)
	for i, r := range rights {
		reviews.Go(func() error {
			findings[i], errs[i] = review(ctx, client, r, user)
			return nil
		})
	}
	_ = reviews.Wait()
	return findings, cmp.Or(errs...)
}

func review(ctx context.Context, client cluster.Client, r experiment.Right, user string) (testbed.Finding, error) {
	f := testbed.Finding{Name: "right to " + objects(r), Status: testbed.Works, Detail: strings.Join(r.Verbs, ", ")}
	resource, sub, _ := strings.Cut(r.Resource, "/")
	var refused, reasons []string
	for _, verb := range r.Verbs {
		spec := authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorization.ResourceAttributes{
			Namespace: r.Namespace, Verb: verb, Group: r.Group, Resource: resource, Subresource: sub}}
		if r.IsPath() {
			spec = authorization.SelfSubjectAccessReviewSpec{
				NonResourceAttributes: &authorization.NonResourceAttributes{Path: r.Resource, Verb: verb}}
		}
		got, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorization.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			return f, fmt.Errorf("ask for the right to %s %s: %w", verb, objects(r), err)
		}
		if got.Status.Allowed {
			continue
		}
		refused = append(refused, verb)
		for _, reason := range []string{got.Status.Reason, got.Status.EvaluationError} {
			if reason = safetext.Head(reason, 200); reason != "" && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		}
	}
	if refused == nil {
		return f, nil
	}
	consequence := "needed because "
	if r.Optional {
		consequence = "without it less is recorded: "
	}
	f.Status, f.Detail = testbed.Refused, strings.Join(refused, ", ")+" refused; "+consequence+r.Why
	if reasons != nil {
		f.Detail += " (" + strings.Join(reasons, "; ") + ")"
	}
	f.Hint = grant(r, user)
	return f, nil
}

func objects(r experiment.Right) string {
	if r.Namespace == "" {
		return r.Name()
	}
	return r.Name() + " in namespace " + r.Namespace
}

func grant(r experiment.Right, user string) string {
	name := "tare-" + cluster.Label(r.Name(), 40)
	kind := "resource"
	if r.IsPath() {
		kind = "non-resource-url"
	}
	rule := fmt.Sprintf("--verb=%s --%s=%s", strings.Join(r.Verbs, ","), kind, shellQuoted(r.Name()))
	if r.Namespace == "" {
		return fmt.Sprintf("kubectl create clusterrole %s %s && kubectl create clusterrolebinding %s --clusterrole=%s %s",
			name, rule, name, name, subject(user))
	}
	in := "-n " + shellQuoted(r.Namespace)
	return fmt.Sprintf("kubectl create role %s %s %s && kubectl create rolebinding %s %s --role=%s %s",
		name, in, rule, name, in, name, subject(user))
}

func subject(user string) string {
	if user == "" {
		return "--user=USER"
	}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		return "--serviceaccount=" + shellQuoted(account)
	}
	return "--user=" + shellQuoted(user)
}

// shellQuoted quotes a text from a cluster as one word for a shell. It escapes control characters.
func shellQuoted(text string) string { return testbed.Quote([]string{safetext.Name(text)}) }

// confined is in the message of the policy in hack/deploy/rbac/confine.yaml whenever the policy refuses a request.
const confined = "Tare is confined to namespaces of its own"

// scope finds out in which namespaces the user's rights hold. It makes an object by a dry run in the namespace default,
// which is not Tare's.
func scope(ctx context.Context, client cluster.Client, u Use) testbed.Finding {
	f := testbed.Finding{Name: "reach of the rights", Status: testbed.Works}
	if u.Namespace != "" {
		f.Detail = "namespace " + u.Namespace + " alone, and reading nodes"
		return f
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "tare-doctor"}}
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, object, dryRunOnly)
	switch {
	case err == nil:
		f.Status = testbed.Missing
		f.Detail = "nothing confines the rights to namespaces of Tare's own: they hold in every namespace"
		f.Hint = "with one given namespace, Tare needs no rights elsewhere (testbed.kubernetes.namespace, " +
			"or tare doctor --namespace NAME); with a namespace for each arm, hack/deploy/rbac/confine.yaml confines the rights"
	case strings.Contains(err.Error(), confined):
		f.Detail = "an admission policy confines them to namespaces of Tare's own"
	default:
		f.Detail = "refused in namespace " + metav1.NamespaceDefault + ": " + shorten(err.Error())
	}
	return f
}

// examination holds findings about one cluster. They come from requests that make nothing on the cluster.
type examination struct {
	Context  string
	Reach    testbed.Finding   // namespaces in which the user's rights hold; whatever the result, a run is possible
	Findings []testbed.Finding // the API server and the required rights; a run needs all of them
	Optional []testbed.Finding // rights without which a run records less
}

// Examine checks that the cluster of a context responds, and that its user has the rights for the use u.
func (t *Testbed) Examine(ctx context.Context, name string, limits experiment.Timeouts, u Use) (examination, error) {
	on, err := t.onCluster(ctx, name, limits)
	if err != nil {
		if ctx.Err() != nil {
			return examination{}, ctx.Err()
		}
		failed := testbed.Finding{Name: "API server", Status: testbed.Refused, Detail: safetext.Head(err.Error(), 1000)}
		return examination{Context: name, Findings: []testbed.Finding{failed}}, nil
	}
	server := testbed.Finding{Name: "API server", Status: testbed.Works}
	if v, err := on.Client.Discovery().ServerVersion(); err != nil {
		server.Status, server.Detail = testbed.Refused, safetext.Head(err.Error(), 1000)
	} else {
		server.Detail = fmt.Sprintf("version %s at %s", shorten(v.GitVersion), on.Config.Host)
	}
	e := examination{Context: on.Context, Findings: []testbed.Finding{server}, Reach: scope(ctx, on.Client, u)}
	rights := Rights(u)
	findings, err := access(ctx, on.Client, rights)
	if err != nil {
		return e, fmt.Errorf("context %s: %w", on.Context, err)
	}
	for i, f := range findings {
		if rights[i].Optional {
			e.Optional = append(e.Optional, f)
		} else {
			e.Findings = append(e.Findings, f)
		}
	}
	return e, nil
}

// Use describes how an experiment uses a cluster. The function Rights lists the rights for it, for hack/deploy/rbac,
// tare doctor and the docs.
type Use struct {
	Namespace string             // namespace that the experiment names; "" if Tare makes its own
	Network   bool               // set if the experiment has a server pod and a service
	Volume    bool               // set if the experiment has persistent volumes
	Observe   []string           // namespaces of observed pods
	Server    bool               // set if the experiment observes the API server
	More      []experiment.Right // further rights that layers and workloads need
}

// UseOf returns how an experiment uses a cluster.
func UseOf(x *experiment.Experiment) Use {
	var u Use
	if k := x.Testbed.Kubernetes; k != nil {
		u.Namespace = k.Namespace
		for _, o := range k.Observe {
			u.Server = u.Server || o.Server
			if !o.Server && !slices.Contains(u.Observe, o.Namespace) {
				u.Observe = append(u.Observe, o.Namespace)
			}
		}
	}
	add := func(d experiment.Declaration) {
		u.Network = u.Network || d.Needs.Network
		u.Volume = u.Volume || d.Needs.Volumes()
		if d.Rights != nil {
			u.More = append(u.More, d.Rights(u.Namespace)...)
		}
	}
	for _, a := range x.Arms {
		for _, l := range a.Layers {
			add(l.Config.Declare())
		}
	}
	for _, w := range x.Workloads {
		add(w.Config.Declare())
	}
	return u
}

// Everything returns a use that needs all rights of the testbed itself.
func Everything(namespace string, observe ...string) Use {
	return Use{Namespace: namespace, Network: true, Volume: true, Observe: observe}
}

// Rights lists the rights that the testbed needs for a use of a cluster, always in the same order.
func Rights(u Use) []experiment.Right {
	var list []experiment.Right
	add := func(resource, namespace, why string, verbs ...string) *experiment.Right {
		list = append(list, experiment.Right{Resource: resource, Verbs: verbs, Namespace: namespace, Why: why})
		return &list[len(list)-1]
	}
	if u.Namespace == "" {
		add("namespaces", "", "each arm has a namespace of its own, which is deleted at the end",
			"create", "delete", "get", "list", "update")
	}
	add("nodes", "", "the nodes of client and server are chosen and described", "get", "list")
	add("configmaps", u.Namespace, "what Tare makes is recorded, so that it can be removed after a crash",
		"create", "delete", "get", "list", "patch")
	add("jobs", u.Namespace, "the cluster removes what a lost run has made: "+
		"it belongs to a Job without pods, whose end a living run puts off", "create", "delete", "get", "patch").Group = "batch"
	add("pods", u.Namespace, "programs run in pods", "create", "delete", "get")
	add("pods/exec", u.Namespace, "programs are started through an agent in the pod", "create", "get")
	add("pods/log", u.Namespace, "errors show the last lines of a pod's log", "get")
	add("events", u.Namespace, "errors show what the cluster says of a pod", "list")
	if u.Network {
		add("services", u.Namespace, "the path pod-to-service", "create", "delete", "get")
	}
	if u.Volume {
		add("persistentvolumeclaims", u.Namespace, "the volume of the client's pod", "create", "delete", "get")
	}
	for _, ns := range u.Observe {
		add("pods", ns, "observed pods are found by their labels", "list", "watch")
	}
	if u.Server {
		add("/metrics", "", "the API server is observed by the counters of its process", "get")
	}
	list = append(list, u.More...)
	// The following rights are optional. Without them, a run records less about the cluster.
	if u.Namespace != "" {
		add("namespaces", "", "the cluster is told from others by the UID of kube-system", "get").Optional = true
	}
	if u.Volume {
		add("persistentvolumes", "", "the volume that a claim was bound to is recorded", "get").Optional = true
	}
	for _, resource := range []string{"daemonsets", "deployments"} {
		r := add(resource, "", "versions of network plug-ins, meshes and the like, and stand-ins, are recorded", "list")
		r.Group, r.Optional = "apps", true
	}
	return merge(list)
}

// merge combines all rights to one resource in one namespace into a single right. It is optional only if all combined
// rights are optional.
func merge(list []experiment.Right) []experiment.Right {
	var merged []experiment.Right
	for _, r := range list {
		i := slices.IndexFunc(merged, func(m experiment.Right) bool {
			return m.Group == r.Group && m.Resource == r.Resource && m.Namespace == r.Namespace
		})
		if i < 0 {
			r.Verbs = slices.Sorted(slices.Values(r.Verbs))
			merged = append(merged, r)
			continue
		}
		m := &merged[i]
		m.Verbs = append(slices.Clone(m.Verbs), r.Verbs...)
		slices.Sort(m.Verbs)
		m.Verbs = slices.Compact(m.Verbs)
		if !strings.Contains(m.Why, r.Why) {
			m.Why += "; " + r.Why
		}
		m.Optional = m.Optional && r.Optional
	}
	return merged
}
