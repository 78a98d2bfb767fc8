package vault

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/netip"
	"time"
)

// pair is a certificate with its key, in PEM, and the authority that signed it. The
// authority's key is forgotten at once.
type pair struct{ ca, cert, key string }

// certify makes an authority, and a certificate of it for the members' addresses.
func certify(members []netip.AddrPort) (*pair, error) {
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tare authority"}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "vault"}, NotBefore: from, NotAfter: to,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, m := range members {
		leaf.IPAddresses = append(leaf.IPAddresses, m.Addr().AsSlice())
	}
	ca, err := x509.CreateCertificate(rand.Reader, root, root, authority.Public(), authority)
	if err != nil {
		return nil, err
	}
	cert, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), authority)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return &pair{ca: text("CERTIFICATE", ca), cert: text("CERTIFICATE", cert), key: text("PRIVATE KEY", secret)}, nil
}
