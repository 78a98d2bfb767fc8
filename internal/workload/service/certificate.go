package service

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"time"
)

// SelfSigned makes a certificate and its key for a builtin server, in PEM. Clients must trust the certificate itself.
// It is valid for servers and for the uses in more.
func SelfSigned(at ByPath, more ...x509.ExtKeyUsage) (cert, key string, err error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "tare"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: append(more, x509.ExtKeyUsageServerAuth),
		BasicConstraintsValid: true, IsCA: true,
	}
	for _, a := range at {
		template.IPAddresses = append(template.IPAddresses, a.Addr().AsSlice())
	}
	cert, key, _, err = sign(template, template, nil)
	return cert, key, err
}

// Signed makes an authority and a certificate for the servers, which the authority signs. It returns both certificates
// and the servers' key, in PEM. The authority's key is not kept.
func Signed(name string, servers []netip.AddrPort) (authority, cert, key string, err error) {
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tare authority"},
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, s := range servers {
		leaf.IPAddresses = append(leaf.IPAddresses, s.Addr().AsSlice())
	}
	authority, _, signer, err := sign(root, root, nil)
	if err == nil {
		cert, key, _, err = sign(leaf, root, signer)
	}
	return authority, cert, key, err
}

// sign makes a key and its certificate, valid for 30 days from now, and an hour before. signer is the key that signs;
// nil: the certificate signs itself.
func sign(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (cert, key string, private *ecdsa.PrivateKey, err error) {
	if private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return "", "", nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), cmp.Or(signer, private))
	if err != nil {
		return "", "", nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	text := func(kind string, content []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
	}
	return text("CERTIFICATE", der), text("PRIVATE KEY", secret), private, err
}

// ServerTLS returns the TLS configuration of a server with a certificate and its key in PEM, or nil if both
// are empty.
func ServerTLS(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return nil, fmt.Errorf("cert and key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
