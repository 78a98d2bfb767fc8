package kube

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"tare/internal/experiment"
	"tare/internal/test/fit"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/pods"
)

// burn uses CPU time in the client's pod for two seconds, and returns the amount.
func burn(t *testing.T, s *Site) testbed.Usage {
	t.Helper()
	process, err := s.Start(t.Context(), testbed.ClientPod, testbed.Command{Args: []string{
		"fio", "--name=burn", "--ioengine=cpuio", "--cpuload=100", "--time_based", "--runtime=2"}, Subject: true})
	if err != nil {
		t.Fatal(err)
	}
	usage, err := process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return usage
}

// sampled is a sample during a call of burn.
func sampled(t *testing.T, sampler *sampler, s *Site) (testbed.Sample, testbed.Usage) {
	t.Helper()
	must(t, sampler.Start(t.Context(), s))
	used := burn(t, s)
	got, err := sampler.Stop(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: programs used %+v; %+v", s.arm, used, got)
	return got, used
}

// observing makes a level observe the server's pod of a site.
func observing(s *Site, nodes experiment.ObserveNodes) experiment.Observe {
	return experiment.Observe{Name: "peer", Namespace: s.Namespace(), Nodes: nodes,
		Labels: map[string]string{inventory.OwnerLabel: string(s.bed.session.Owner), inventory.RoleLabel: roleServer}}
}

// With accounting: node the usage of whole pods is counted, with sandboxes and throttling. Observed pods are counted,
// too, even if they are made again in between.
func TestSamplesOnNodes(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	level := parameters()
	level.Accounting = experiment.OnNode
	plain := open(t, bed, "plain", experiment.Needs{Network: true}, level)
	sandbox := open(t, bed, "gvisor", experiment.Needs{Network: true}, level)
	sandbox.ShapePods(func(p *corev1.Pod) error {
		p.Spec.RuntimeClassName = new("gvisor")
		return nil
	})
	level.Observe = []experiment.Observe{observing(plain, experiment.AllNodes),
		{Name: "nobody", Namespace: "default", Labels: map[string]string{"no": "such"}}, {Name: "api", Server: true}}
	for _, s := range []*Site{plain, sandbox} {
		must(t, s.Ready(t.Context()))
	}
	clusters, err := bed.Describe(t.Context())
	if err != nil || len(clusters) != 1 || len(clusters[0].Nodes) != 2 {
		t.Fatalf("described as %+v, %v", clusters, err)
	}
	for _, n := range clusters[0].Nodes {
		if n.Kernel == "" || n.Runtime == "" || n.BootID == "" || n.CPUs == "" || !strings.HasPrefix(n.Zone, "tare-") || n.Images[pods.Container] == "" {
			t.Errorf("node %+v", n)
		}
	}
	// The nodes of the test cluster share a kernel. There is no note about a problem for trials.
	if notes := strings.Join(clusters[0].Notes, "\n"); !strings.Contains(notes, "share one kernel") || strings.Contains(notes, "not applied") {
		t.Errorf("notes %q", notes)
	}
	sampler := bed.Sampler()
	for _, s := range []*Site{plain, sandbox} {
		got, used := sampled(t, sampler, s)
		// A sandbox with its own kernel has its own clock, which continues while the sandbox is throttled. The
		// reading uses the node's clock.
		if used.Unavailable || used.CPU() <= 0 || used.System > used.CPU() || used.MaxRSS < 1<<20 || used.Wall <= 0 || got.Sidecars != nil {
			t.Errorf("%s: the program used %+v; beside it %+v", s.arm, used, got.Sidecars)
		}
		c := got.Conditions
		if c.ForeignCPU < 0 || c.ForeignCPU > 1 || c.Busy < used.CPU() || c.Throttled == 0 || c.Load <= 0 {
			t.Errorf("%s: %+v", s.arm, c)
		}
		peer, ok := got.Observed["peer"]
		if !ok || peer.CPU < 0 || peer.Memory <= 0 || peer.Wall < time.Second {
			t.Errorf("%s: observed %+v, %v", s.arm, peer, ok)
		}
		if api, ok := got.Observed["api"]; !ok || api.CPU <= 0 || api.Memory < 10<<20 || api.Wall < time.Second {
			t.Errorf("%s: observed the API server as %+v, %v", s.arm, api, ok)
		}
		if _, ok := got.Observed["nobody"]; ok {
			t.Errorf("%s: a component without pods was observed: %+v", s.arm, got.Observed)
		}
	}
	for _, p := range sandbox.podList() { // read before and after a restart of what counts
		remove(t, sandbox.on.counter.NodePod(p.Node()))
	}
	if _, used := sampled(t, sampler, plain); used.Unavailable || used.CPU() <= 0 || used.MaxRSS < 1<<20 || used.Wall <= 0 {
		t.Errorf("after the pods that count were lost: %+v", used)
	}
}

// remove deletes a pod without the testbed's knowledge, and waits until the pod is gone: until then it still answers.
func remove(t *testing.T, p *pods.Pod) {
	t.Helper()
	plan := p.Plan()
	must(t, clusterClient(t).CoreV1().Pods(plan.Namespace).Delete(t.Context(), plan.Name, metav1.DeleteOptions{}))
	fit.Await(t, p.String()+" to be gone", func() bool {
		_, err := p.Get(t.Context())
		return apierrors.IsNotFound(err)
	})
}

// With accounting: container no right on nodes is used. A value that a sandbox hides is unknown, and never zero.
func TestSamplesInContainers(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	level := parameters()
	level.Accounting = experiment.InContainer
	plain := open(t, bed, "plain", experiment.Needs{Network: true}, level)
	sandbox := open(t, bed, "gvisor", experiment.Needs{Network: true}, level)
	sandbox.ShapePods(func(p *corev1.Pod) error {
		p.Spec.RuntimeClassName = new("gvisor")
		return nil
	})
	for _, s := range []*Site{plain, sandbox} {
		must(t, s.Ready(t.Context()))
	}
	clusters, err := bed.Describe(t.Context())
	if err != nil || len(clusters) != 1 {
		t.Fatalf("described as %+v, %v", clusters, err)
	}
	if notes := strings.Join(clusters[0].Notes, "\n"); !strings.Contains(notes, "limits.foreignCPU is applied to no arm") ||
		!strings.Contains(notes, "arm gvisor: metrics of CPU time and memory of its programs are missing, because a sandbox, gvisor,") || strings.Contains(notes, "arm plain") {
		t.Errorf("notes %q", notes)
	}
	sampler := bed.Sampler()
	// A value that is unknown in one arm is used in no arm.
	if got, used := sampled(t, sampler, plain); used.Unavailable || used.CPU() <= 0 || got.Conditions.ForeignCPU != -1 || got.Conditions.Busy < used.CPU() || got.Sidecars != nil {
		t.Errorf("plain: %+v, %+v", got, used)
	}
	if got, used := sampled(t, sampler, sandbox); got.Conditions.ForeignCPU != -1 || got.Conditions.Busy <= 0 || got.Sidecars != nil || !used.Unavailable || used.CPU() != 0 || used.MaxRSS != 0 {
		t.Errorf("gvisor: %+v, %+v", got, used)
	}
}
