package kube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/testbed"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
)

const (
	webhookName = "team.tare.test"
	refusal     = "every pod needs a label team"
)

// If a webhook refuses an arm's object, or does not answer, the error names the webhook, the reason and a remedy.
// Other arms get their sites.
func TestAdmissionWebhook(t *testing.T) {
	t.Parallel()
	config, err := clientcmd.BuildConfigFromFlags("", kubetest.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config) // a client that does not repeat unanswered requests
	if err != nil {
		t.Fatal(err)
	}
	hint := "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
	tests := []struct {
		name     string
		resource string
		hook     func(*testing.T) admissionregistration.WebhookClientConfig
		want     []string
	}{
		{"refuses pods", "pods", webhook(config.Host, refuse),
			[]string{"make pod tare-", "/client: ", `admission webhook "` + webhookName + `" denied the request: ` + refusal, "app.kubernetes.io/managed-by=tare"}},
		{"refuses namespaces", "namespaces", webhook(config.Host, refuse),
			[]string{"make namespace tare-", `admission webhook "` + webhookName + `" denied the request: ` + refusal, "app.kubernetes.io/managed-by=tare"}},
		{"is not there", "pods", func(t *testing.T) admissionregistration.WebhookClientConfig {
			there := webhook(config.Host, refuse)(t)
			there.URL = new("https://127.0.0.1:1/")
			return there
		}, []string{"make pod tare-", `failed calling webhook "` + webhookName + `"`, "connection refused", hint}},
		{"has no Service", "pods", func(*testing.T) admissionregistration.WebhookClientConfig {
			return admissionregistration.WebhookClientConfig{Service: &admissionregistration.ServiceReference{Namespace: "default", Name: "nobody"}}
		}, []string{"make pod tare-", `failed calling webhook "` + webhookName + `"`, `service "nobody" not found`, hint}},
		{"does not answer", "pods", webhook(config.Host, hang),
			[]string{"make pod tare-", `failed calling webhook "` + webhookName + `"`, "deadline exceeded", hint}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			level := parameters()
			level.Timeouts.Request = quantity.Duration(6 * time.Second) // the time for which a request to an unreachable webhook is repeated
			bed := onCluster(t)
			plain := open(t, bed, "plain", experiment.Needs{Network: true}, level)
			guarded := open(t, bed, "guarded", experiment.Needs{Network: true}, level)
			register(t, client, guarded, tt.resource, tt.hook(t))
			saysWhy(t, guarded.Ready(t.Context()), tt.want...)
			if err := plain.Ready(t.Context()); err != nil {
				t.Fatalf("the other arm: %v", err)
			}
			if out, err := runIn(t, plain, testbed.ClientPod, "iperf3", "--version"); err != nil {
				t.Errorf("a program in the other arm: %q, %v", out, err)
			}
		})
	}
}

// refuse is the response of a webhook that refuses every object.
func refuse(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: refusal}}
	_ = json.NewEncoder(w).Encode(review)
}

// hang never answers a request.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// webhook runs a webhook on this machine, at the address by which this machine reaches the API server.
func webhook(api string, answer http.HandlerFunc) func(*testing.T) admissionregistration.WebhookClientConfig {
	return func(t *testing.T) admissionregistration.WebhookClientConfig {
		t.Helper()
		here := towards(t, api)
		pair, authority := selfSigned(t, here)
		listener, err := net.Listen("tcp", net.JoinHostPort(here.String(), "0"))
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(answer)
		_ = server.Listener.Close()
		server.Listener = listener
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
		t.Cleanup(server.Close)
		return admissionregistration.WebhookClientConfig{URL: new(server.URL + "/"), CABundle: authority}
	}
}

// towards returns this machine's address on the route to the API server.
func towards(t *testing.T, api string) net.IP {
	t.Helper()
	server, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("udp", server.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP
}

func selfSigned(t *testing.T, ip net.IP) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{ip}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// register makes the API server call a webhook before it makes objects of a resource for a site's arm, and waits
// until it does.
func register(t *testing.T, client kubernetes.Interface, s *Site, resource string, hook admissionregistration.WebhookClientConfig) {
	t.Helper()
	asked := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	none := admissionregistration.SideEffectClassNone
	made, err := asked.Create(t.Context(), &admissionregistration.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "tare-test-"},
		Webhooks: []admissionregistration.ValidatingWebhook{{
			Name: webhookName, ClientConfig: hook, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: new(admissionregistration.Fail), TimeoutSeconds: new(int32(1)),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				inventory.OwnerLabel: string(s.bed.session.Owner), inventory.ArmLabel: s.arm,
			}},
			Rules: []admissionregistration.RuleWithOperations{{
				Operations: []admissionregistration.OperationType{admissionregistration.Create},
				Rule:       admissionregistration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := asked.Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for {
		err := offer(t, client, s, resource)
		if err != nil && strings.Contains(err.Error(), webhookName) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(errors.Join(err, t.Context().Err()))
		}
	}
}

// offer requests a dry run of an object like those of a site.
func offer(t *testing.T, client kubernetes.Interface, s *Site, resource string) error {
	meta := metav1.ObjectMeta{GenerateName: "tare-test-", Labels: s.Labels()}
	if resource == "namespaces" {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, dryRunOnly)
		return err
	}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}}}
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, dryRunOnly)
	return err
}
