package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tare/hack/cluster/image"
	"tare/hack/cluster/pki"
	"tare/hack/image/tree"
)

// testNames asks for names in the pod client of pods.yaml.
func testNames(t *testing.T, name string) {
	must(t, name, "kubectl", "apply", "--filename=testdata/headless.yaml")
	field := func(path string, of ...string) string {
		return must(t, name, append([]string{"kubectl", "get", "--output=jsonpath=" + path}, of...)...)
	}
	for host, want := range map[string]string{
		"kubernetes.default.svc.cluster.local": "10.96.0.1",
		"server.default.svc.cluster.local":     field("{.spec.clusterIP}", "service", "server"),
		"headless.default.svc.cluster.local":   field("{.status.podIP}", "pod", "server"),
	} {
		eventually(t, "the address "+want+" of "+host, func() error { // CoreDNS hears of a Service a moment after kubectl
			out, err := try(name, "kubectl", "exec", "client", "--", "nslookup", host)
			if err == nil && !strings.Contains(out, "Address: "+want+"\n") {
				err = fmt.Errorf("%q", out)
			}
			return err
		})
	}
	// By the search list of resolv.conf, as programs do.
	if out := must(t, name, "kubectl", "exec", "client", "--", "iperf3", "--client", "server", "--bytes", "1M"); !strings.Contains(out, "iperf Done.") {
		t.Errorf("iperf3 by the name of the Service: %q", out)
	}
	for _, host := range []string{"example.com", "nobody.default.svc.cluster.local"} {
		out, err := try(name, "kubectl", "exec", "client", "--", "nslookup", host)
		if err == nil || !strings.Contains(out, "can't find "+host+": NXDOMAIN") {
			t.Errorf("%s, which there is not: %q, %v", host, out, err)
		}
	}
}

// testWebhook has the API server ask an admission webhook in a pod, through its Service.
func testWebhook(t *testing.T, name string) {
	dir := t.TempDir()
	program := filepath.Join(dir, "webhook")
	compile := exec.Command("go", "build", "-o", program, "./testdata/webhook")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := image.Image{
		Reference: "tare.test/webhook:1", Files: tree.Tree{"/webhook": {Mode: 0o755, Content: content}}, Entrypoint: []string{"/webhook"},
	}.Cached(dir)
	if err != nil {
		t.Fatal(err)
	}
	must(t, name, "load", archive)

	authority, err := pki.NewAuthority("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(pki.Subject{Name: "webhook", Hosts: []string{"webhook.admission.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("testdata/webhook.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write := func(file string, content []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must(t, name, "kubectl", "create", "namespace", "admission")
	must(t, name, "kubectl", "create", "secret", "tls", "webhook", "--namespace=admission",
		"--cert="+write("tls.crt", pair.Cert), "--key="+write("tls.key", pair.Key))
	must(t, name, "kubectl", "apply", "--filename="+write("webhook.yaml",
		[]byte(strings.ReplaceAll(string(manifest), "AUTHORITY", base64.StdEncoding.EncodeToString(authority.PEM)))))
	must(t, name, "kubectl", "wait", "--for=condition=Ready", "--timeout=90s", "pod/webhook", "--namespace=admission")

	create := func(label string) error {
		object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: one-, namespace: admission, labels: {" + label + "}}\n"
		_, err := try(name, "kubectl", "create", "--filename="+write("object.yaml", []byte(object)))
		return err
	}
	eventually(t, "the webhook to be asked", func() error {
		err := create("")
		if err == nil || !strings.Contains(err.Error(), `admission webhook "owners.tare.test" denied the request: it has no label owner`) {
			return fmt.Errorf("without the label: %v", err)
		}
		return nil
	})
	if err := create("owner: me"); err != nil {
		t.Errorf("with the label: %v", err)
	}
}
