package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"strings"
	"testing"
)

func TestIssue(t *testing.T) {
	ca, err := NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewAuthority("test-ca")
	if err != nil {
		t.Fatal(err)
	}
	roots, otherRoots := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.PEM)
	otherRoots.AppendCertsFromPEM(other.PEM)

	for _, test := range []struct {
		name    string
		subject Subject
		server  bool
	}{
		{"client", Subject{Name: "admin", Groups: []string{"system:masters"}}, false},
		{"server", Subject{Name: "api", Hosts: []string{"kubernetes"}, IPs: []net.IP{net.IPv4(10, 96, 0, 1)}}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			pair, err := ca.Issue(test.subject)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tls.X509KeyPair(pair.Cert, pair.Key); err != nil {
				t.Errorf("certificate and key do not fit: %v", err)
			}
			block, _ := pem.Decode(pair.Cert)
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if cert.Subject.CommonName != test.subject.Name || strings.Join(cert.Subject.Organization, ",") != strings.Join(test.subject.Groups, ",") {
				t.Errorf("subject is %v, want %+v", cert.Subject, test.subject)
			}
			client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
			if _, err := cert.Verify(client); err != nil {
				t.Errorf("as a client: %v", err)
			}
			server := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
			if _, err := cert.Verify(server); (err == nil) != test.server {
				t.Errorf("as a server: %v, want allowed: %v", err, test.server)
			}
			for _, host := range append(test.subject.Hosts, "10.96.0.1") {
				if err := cert.VerifyHostname(host); (err == nil) != test.server {
					t.Errorf("host %s: %v, want valid: %v", host, err, test.server)
				}
			}
			client.Roots = otherRoots
			if _, err := cert.Verify(client); err == nil {
				t.Error("verified by an authority of the same name that did not sign it")
			}
		})
	}
}

func TestKubeconfig(t *testing.T) {
	content, err := Kubeconfig("c", "https://192.0.2.1:6443", "admin", []byte("CA"), Pair{Cert: []byte("CERT"), Key: []byte("KEY")})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Name    string
			Cluster struct {
				Server    string
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			Name string
			User struct {
				Cert []byte `json:"client-certificate-data"`
				Key  []byte `json:"client-key-data"`
			}
		}
		Current string `json:"current-context"`
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	cluster, user := config.Clusters[0], config.Users[0].User
	if cluster.Name != "c" || config.Current != "c" || cluster.Cluster.Server != "https://192.0.2.1:6443" ||
		config.Users[0].Name != "admin@c" || string(cluster.Cluster.Authority) != "CA" || string(user.Cert) != "CERT" || string(user.Key) != "KEY" {
		t.Errorf("got %s", content)
	}
}
