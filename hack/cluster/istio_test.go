package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tare/hack/cluster/cluster"
)

const stockEnvoy = "Istio 1.29.1 (stock Envoy, not proxyv2)"

// TestIstio: sidecars are put in, take a pod's traffic and encrypt it, and refuse who does not. It is
// skipped where Istio has not been compiled; make test-products does that.
func TestIstio(t *testing.T) {
	requireCluster(t)
	missing, err := cluster.Missing(t.Context(), cluster.Options{Source: source(), Istio: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("not compiled yet, which takes minutes (make test-products does it): %s", strings.Join(missing, ", "))
	}
	before := takeTrace(t)
	name := testName("h")
	t.Cleanup(func() { must(t, name, "down") })
	for _, out := range []string{must(t, name, "up", "--gvisor=false", "--istio"), must(t, name, "status")} {
		if !strings.Contains(out, stockEnvoy) {
			t.Errorf("no %q in %s", stockEnvoy, out)
		}
	}
	kubectl := func(args ...string) string { return must(t, name, append([]string{"kubectl"}, args...)...) }

	eventually(t, "istiod to be asked about pods", func() error {
		_, err := try(name, "kubectl", "apply", "--filename=testdata/istio.yaml")
		return err
	})
	for _, pod := range []string{"mesh/server", "mesh/client", "outside/client"} {
		namespace, pod, _ := strings.Cut(pod, "/")
		if out, err := try(name, "kubectl", "wait", "--for=condition=Ready", "--timeout=120s", "--namespace="+namespace, "pod/"+pod); err != nil {
			t.Fatalf("%v%s%s", err, out, kubectl("get", "events", "--all-namespaces"))
		}
	}
	images := kubectl("get", "pods", "--all-namespaces",
		`--output=jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}: {.spec.initContainers[*].image}{"\n"}{end}`)
	for _, want := range []string{
		"mesh/server: tare.test/stock-envoy-not-proxyv2:1.29.1 tare.test/stock-envoy-not-proxyv2:1.29.1\n", "outside/client: \n",
	} {
		if !strings.Contains(images, want) {
			t.Errorf("images of sidecars without %q: %s", want, images)
		}
	}

	ip := kubectl("get", "service", "server", "--namespace=mesh", "--output=jsonpath={.spec.clusterIP}")
	ask := func(namespace string) (string, error) {
		return try(name, "kubectl", "exec", "client", "--namespace="+namespace, "--container=shell", "--", "wget", "-q", "-O", "-", "http://"+ip+"/")
	}
	served := func(namespace string) {
		t.Helper()
		eventually(t, "the page, asked for in the namespace "+namespace, func() error {
			page, err := ask(namespace)
			if err == nil && page != "hello from server\n" {
				err = fmt.Errorf("%q", page)
			}
			return err
		})
	}
	served("mesh")
	if page, err := ask("outside"); err == nil || !strings.Contains(err.Error(), "reset by peer") {
		t.Errorf("plain text to a server that wants mutual TLS: %q, %v", page, err)
	}
	if n := handshakes(t, name); n == "" || n == "0" {
		t.Errorf("the server's proxy counts %q handshakes", n)
	}

	kubectl("patch", "peerauthentication", "default", "--namespace=mesh", "--type=merge", `--patch={"spec":{"mtls":{"mode":"DISABLE"}}}`)
	served("outside")

	must(t, name, "down")
	before.expectSame(t)
}

var counted = regexp.MustCompile(`(?m)^listener\.0\.0\.0\.0_15006\.ssl\.handshake: (\d+)$`)

// handshakes is what Envoy itself counts at the door of the server's pod.
func handshakes(t *testing.T, name string) string {
	t.Helper()
	out := must(t, name, "kubectl", "exec", "server", "--namespace=mesh", "--container=istio-proxy", "--",
		"pilot-agent", "request", "GET", "stats?filter=15006.ssl.handshake")
	if found := counted.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return ""
}
