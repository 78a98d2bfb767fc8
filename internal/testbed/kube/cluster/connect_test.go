package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/experiment"
	"tare/internal/experiment/quantity"
	"tare/internal/test/slow"
)

// timeouts are the timeouts of a testbed.
var timeouts = experiment.Timeouts{Request: quantity.Duration(30 * time.Second)}

// writeKubeconfig writes a kubeconfig with the contexts one and two for a server.
func writeKubeconfig(t *testing.T, server, ca, current string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: %q
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}]
contexts: [{name: two, context: {cluster: c, user: u}}, {name: one, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: secret}}]
`, current, server, base64.StdEncoding.EncodeToString([]byte(ca)))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// apiServer is a server whose certificate is valid until a given time. It answers the first request of a connection.
// apiServer returns its CA, too.
func apiServer(t *testing.T, until time.Time, answer http.HandlerFunc) (url, ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: until.Add(-2 * time.Hour), NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of the handshakes that must fail
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// namespaceOf answers the first request of Connect, and records the user agent.
func namespaceOf(agent *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*agent = r.UserAgent()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"the-uid"}}`)
	}
}

func TestConnect(t *testing.T) {
	var agent string
	url, ca := apiServer(t, time.Now().Add(time.Hour), namespaceOf(&agent))
	for _, name := range []string{"", "one"} {
		c, err := Connect(t.Context(), Options{Kubeconfig: writeKubeconfig(t, url, ca, "two"), Version: "1.2\n3"}, name, timeouts)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"": "two", "one": "one"}[name]
		if c.Context != want || c.UID != "the-uid" || agent != "tare/1.2 3" {
			t.Errorf("connected to context %s, UID %s, as %s; want %s, the-uid, tare/1.2 3", c.Context, c.UID, agent, want)
		}
	}
}

func TestConnectFails(t *testing.T) {
	slow.Test(t)
	var agent string
	good, ca := apiServer(t, time.Now().Add(time.Hour), namespaceOf(&agent))
	expired, oldCA := apiServer(t, time.Now().Add(-time.Hour), namespaceOf(&agent))
	_, otherCA := apiServer(t, time.Now().Add(time.Hour), namespaceOf(&agent))
	stranger, strangerCA := apiServer(t, time.Now().Add(time.Hour), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	tests := []struct {
		name, config, context string
		want                  []string
	}{
		{"no such context", writeKubeconfig(t, good, ca, "two"), "three", []string{`has no context "three" (there are: one, two)`}},
		{"no current context", writeKubeconfig(t, good, ca, ""), "", []string{"has no current context: name one by testbed.kubernetes.context (there are one, two)"}},
		{"no such file", "/nonexistent/kubeconfig", "", []string{"kubeconfig: ", "no such file"}},
		{"refused", writeKubeconfig(t, "https://127.0.0.1:1", ca, "one"), "", []string{"the API server of context one at https://127.0.0.1:1 cannot be used: nothing listens there (is the cluster up?)"}},
		{"expired", writeKubeconfig(t, expired, oldCA, "one"), "", []string{"a certificate has expired or is not valid yet (is the clock right?)"}},
		{"another authority", writeKubeconfig(t, good, otherCA, "one"), "", []string{"its certificate is not the one that the kubeconfig expects"}},
		{"unknown user", writeKubeconfig(t, stranger, strangerCA, "one"), "", []string{"it does not know who asks"}},
		{"unknown name", writeKubeconfig(t, "https://tare.invalid", ca, "one"), "", []string{"cannot be used: its name is not known here"}},
		{"silent", writeKubeconfig(t, "https://"+silent.Addr().String(), ca, "one"), "", []string{"it does not answer (a firewall or a VPN may be in the way)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits := timeouts
			if tt.name == "silent" {
				limits.Request = quantity.Duration(time.Second)
			}
			_, err := Connect(t.Context(), Options{Kubeconfig: tt.config}, tt.context, limits)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %s", err, want)
				}
			}
		})
	}
	t.Run("no kubeconfig", func(t *testing.T) {
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
		t.Setenv("KUBERNETES_SERVICE_HOST", "")
		_, err := Connect(t.Context(), Options{}, "", timeouts)
		if err == nil || !strings.Contains(err.Error(), "no kubeconfig: there are no contexts in "+os.Getenv("KUBECONFIG")+"; set KUBECONFIG") {
			t.Errorf("got %v", err)
		}
	})
}
