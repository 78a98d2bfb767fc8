package xdstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"

	"tare/internal/testbed"
)

// Environment variables of the Helper. FileVariable names the file that the Helper watches. MostVariable
// gives the number of streams that the Helper serves at a time. MetricsVariable gives the port of its
// metrics.
const (
	FileVariable    = "XDSTEST_FILE"
	MostVariable    = "XDSTEST_MOST"
	MetricsVariable = "XDSTEST_METRICS"
)

// Helper is a server in its own process at the port TARE_PORT. It uses TLS if it is given a certificate. It pushes
// different endpoints each time that the content of the file changes.
var Helper = testbed.Helper{Name: "xdstest", Run: func(ctx context.Context) error {
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+os.Getenv("TARE_PORT"))
	if err != nil {
		return err
	}
	mesh := Mesh{Clusters: 3, Endpoints: 2, Listeners: 1}
	most, _ := strconv.Atoi(os.Getenv(MostVariable)) // the variable may be absent
	options := Options{Most: most}
	if cert := os.Getenv("TARE_TLS_CERT"); cert != "" {
		if options.TLS, err = Serving([]byte(cert), []byte(os.Getenv("TARE_TLS_KEY")), false); err != nil {
			return err
		}
	}
	s, err := Start(on, mesh, options)
	if err != nil {
		return err
	}
	defer s.Stop()
	if port := os.Getenv(MetricsVariable); port != "" {
		metrics := &http.Server{Addr: ":" + port, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Fprintln(w, "go_memstats_heap_inuse_bytes", m.HeapInuse)
		})}
		go func() { _ = metrics.ListenAndServe() }()
		defer metrics.Close()
	}
	fmt.Println("listening")
	for last := ""; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(os.Getenv(FileVariable)) // the file may not exist yet
		if string(text) == last || len(text) == 0 {
			continue
		}
		last = string(text)
		if err := s.Change(mesh); err != nil {
			return err
		}
	}
	return nil
}}

// Certificate makes a self-signed certificate for 127.0.0.1 and its key, in PEM. Servers and clients can use it.
func Certificate() (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "xdstest"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// Serving returns the TLS configuration of a server with this certificate. If mutual is set, clients must
// present a certificate that the server's certificate has signed.
func Serving(cert, key []byte, mutual bool) (*tls.Config, error) {
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	if mutual {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		c.ClientCAs.AppendCertsFromPEM(cert)
	}
	return c, nil
}
