package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"tare/internal/experiment"
	"tare/internal/experiment/factor"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/cluster"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
	"tare/internal/testbed/kube/pods"
	"tare/internal/testbed/local"
)

// parameters are a testbed's parameters with short limits.
func parameters() *experiment.Kubernetes {
	return &experiment.Kubernetes{
		Image:     experiment.DefaultImage,
		Placement: factor.Of(experiment.DifferentNodes),
		Resources: experiment.Resources{CPU: "100m", Memory: "64Mi"},
		Timeouts: experiment.Timeouts{
			Ready: quantity.Duration(2 * time.Minute), Delete: quantity.Duration(2 * time.Minute),
			Request: quantity.Duration(30 * time.Second), Connect: quantity.Duration(30 * time.Second),
		},
	}
}

// onCluster is a testbed on the test cluster. It is closed with the test, and must leave nothing behind.
func onCluster(t *testing.T) *Testbed {
	t.Helper()
	return bedOf(t, Options{Kubeconfig: kubetest.Kubeconfig(t), Host: func() (testbed.Testbed, error) { return local.New() }})
}

// bedOf is a testbed with these options.
func bedOf(t *testing.T, o Options) *Testbed {
	t.Helper()
	o.Say = func(line string) { t.Log(line) }
	bed, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		nothingLeft(t, bed.session.Owner)
	})
	return bed
}

// nothingLeft fails if any object of a run is still on the cluster.
func nothingLeft(t *testing.T, owner inventory.Owner) {
	t.Helper()
	c := connected(t)
	mine := metav1.ListOptions{LabelSelector: inventory.OwnerLabel + "=" + string(owner)}
	core := c.Client.CoreV1()
	namespaces, err1 := core.Namespaces().List(context.Background(), mine)
	pods, err2 := core.Pods("").List(context.Background(), mine)
	maps, err3 := core.ConfigMaps("").List(context.Background(), mine)
	services, err4 := core.Services("").List(context.Background(), mine)
	claims, err5 := core.PersistentVolumeClaims("").List(context.Background(), mine)
	jobs, err6 := c.Client.BatchV1().Jobs("").List(context.Background(), mine)
	must(t, errors.Join(err1, err2, err3, err4, err5, err6))
	if n := len(namespaces.Items) + len(pods.Items) + len(maps.Items) + len(services.Items) + len(claims.Items) + len(jobs.Items); n > 0 {
		t.Errorf("left behind: %d namespaces, %d pods, %d ConfigMaps, %d services, %d claims, %d jobs", len(namespaces.Items), len(pods.Items), len(maps.Items), len(services.Items), len(claims.Items), len(jobs.Items))
	}
}

// must ends the test on an unexpected error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clusterClient is a client of the test's own, independent of the testbed.
func clusterClient(t *testing.T) cluster.Client {
	t.Helper()
	return connected(t).Client
}

// connected is a connection to the test cluster.
func connected(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Connect(context.Background(), cluster.Options{Kubeconfig: kubetest.Kubeconfig(t)}, "", parameters().Timeouts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// allGroups returns a client of the cluster with all groups of the API, also those that Tare does not use.
func allGroups(t *testing.T, c *cluster.Cluster) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.Wrap(cluster.Retrying(time.Minute))
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// open opens a site.
func open(t *testing.T, bed *Testbed, arm string, needs experiment.Needs, level *experiment.Kubernetes) *Site {
	t.Helper()
	site, err := bed.Open(t.Context(), testbed.Request{Name: arm, Needs: needs, Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return site.(*Site)
}

// ready opens a site and makes its objects.
func ready(t *testing.T, bed *Testbed, arm string, needs experiment.Needs, level *experiment.Kubernetes) *Site {
	t.Helper()
	s := open(t, bed, arm, needs, level)
	must(t, s.Ready(t.Context()))
	return s
}

// runIn runs a program at a place of a site and returns its output.
func runIn(t *testing.T, s *Site, where testbed.Place, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	process, err := s.Start(t.Context(), where, testbed.Command{Args: args, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		return "", err
	}
	_, err = process.Wait()
	return stdout.String(), err
}

// A site has two pods on two nodes, under Pod Security restricted. They are reached by their own addresses and by a
// service. All arms have the same nodes.
func TestSiteOnACluster(t *testing.T) {
	t.Parallel()
	bed := onCluster(t)
	one := ready(t, bed, "plain", experiment.Needs{Network: true}, parameters())
	other := ready(t, bed, "Seccomp[rules=8] …", experiment.Needs{Network: true}, parameters())
	if got := fmt.Sprint(one.nodes()); got != fmt.Sprint(other.nodes()) || len(one.nodes()) != 2 {
		t.Errorf("the arms are on nodes %s and %v, want the same two", got, other.nodes())
	}
	for _, s := range []*Site{one, other} {
		version, err := runIn(t, s, testbed.ClientPod, "iperf3", "--version")
		if err != nil || !strings.HasPrefix(version, "iperf 3.") {
			t.Errorf("iperf3 --version in the client's pod says %q, %v", version, err)
		}
		facts, err := s.Facts(t.Context(), testbed.ServerPod)
		if err != nil || facts.UID != pods.User || facts.NoNewPrivs != "1" || facts.Seccomp != "filter" {
			t.Errorf("the server's pod sees %+v, %v; want user %d, no new privileges, a seccomp filter", facts, err, pods.User)
		}
		made, err := s.Pods(t.Context())
		if err != nil || len(made) != 2 {
			t.Fatalf("pods %v, %v", made, err)
		}
		server := made[testbed.ServerPod]
		if got := s.Address(testbed.PodToPod); got.String() != server.Status.PodIP || server.Status.QOSClass != "Guaranteed" {
			t.Errorf("the server is at %s, class %s; its pod at %s", got, server.Status.QOSClass, server.Status.PodIP)
		}
		for _, path := range []testbed.Path{testbed.PodToPod, testbed.PodToService} {
			transfer(t, s, path)
		}
		out, _, err := s.Exec(t.Context(), server.Namespace, server.Name, pods.Container, []string{pods.Program, "--version"})
		if err != nil || !strings.HasPrefix(string(out), "tare-agent ") {
			t.Errorf("exec: %q, %v", out, err)
		}
		if err := s.Mend(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if out, err := runIn(t, one, testbed.Host, "echo", "here"); err != nil || out != "here\n" {
		t.Errorf("on the host: %q, %v", out, err)
	}
	if one.Address(testbed.NodeToNode) != (netip.Addr{}) {
		t.Error("a path between the nodes that nothing asked for")
	}
}

// transfer sends data by TCP from the client to the server for a second.
func transfer(t *testing.T, s *Site, path testbed.Path) {
	t.Helper()
	from, to := path.Ends()
	port := fmt.Sprint(s.Ports()[0])
	// The server accepts several connections, since the client repeats a try that fails half-way.
	server, err := s.Start(t.Context(), to, testbed.Command{Args: []string{"iperf3", "-s", "-p", port}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	errs := map[string]int{}
	for range 100 { // kube-proxy needs a moment for a new service, and the server to listen
		_, err := runIn(t, s, from, "iperf3", "-c", s.Address(path).String(), "-p", port, "-n", "1M")
		if err == nil {
			return
		}
		errs[err.Error()]++
	}
	t.Errorf("%s: %v", path, errs)
}

// The path between the nodes is between pods in the host's network.
func TestNodeToNode(t *testing.T) {
	t.Parallel()
	s := ready(t, onCluster(t), "nodes", experiment.Needs{Network: true, HostNetwork: true}, parameters())
	pods, err := s.Pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := pods[testbed.ServerNode]; !p.Spec.HostNetwork || p.Status.HostIP != s.Address(testbed.NodeToNode).String() || p.Spec.NodeName != pods[testbed.ServerPod].Spec.NodeName {
		t.Errorf("the server of the path is at %v, in pod %+v", s.Address(testbed.NodeToNode), p.Spec)
	}
	transfer(t, s, testbed.NodeToNode)
}

// A pod of another image runs Tare's agent, too.
func TestOtherImage(t *testing.T) {
	t.Parallel()
	level := parameters()
	s := ready(t, onCluster(t), "tools", experiment.Needs{Volume: &experiment.Volume{Size: 1 << 20}, Image: "tare.test/tools:1"}, level)
	out, err := runIn(t, s, testbed.ClientPod, "sh", "-c", "echo $((6*7))")
	if err != nil || out != "42\n" {
		t.Errorf("a program of the image says %q, %v", out, err)
	}
	// This is how an injected sidecar looks up its control plane.
	out, err = runIn(t, s, testbed.ClientPod, "nslookup", "kubernetes.default.svc.cluster.local")
	if err != nil || !strings.Contains(out, "Name:\tkubernetes.default.svc.cluster.local\n") {
		t.Errorf("the API server's name in the pod: %q, %v", out, err)
	}
	b, err := s.bound(t.Context(), s.volumes()[0])
	if err != nil || b.Claim.Status.Phase != "Bound" || b.Volume.Name == "" {
		t.Errorf("claim %v, volume %v, %v", b.Claim, b.Volume, err)
	}
	if len(s.nodes()) != 1 {
		t.Errorf("a site without network is on nodes %v", s.nodes())
	}
}
