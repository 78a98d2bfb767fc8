package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// SelfSigned makes a certificate and its key for a builtin server, in PEM. The certificate signs itself.
// Clients trust it directly, without an authority.
func SelfSigned(at ByPath) (cert, key string, err error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "tare"},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	for _, a := range at {
		template.IPAddresses = append(template.IPAddresses, a.Addr().AsSlice())
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	return sign(template, template, private, private)
}

// Signed makes an authority, and a certificate for servers at addresses with its key, all in PEM. The
// authority's key is forgotten at once.
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
		leaf.IPAddresses = append(leaf.IPAddresses, net.IP(s.Addr().AsSlice()))
	}
	var private [2]*ecdsa.PrivateKey
	for i := range private {
		if private[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return "", "", "", err
		}
	}
	if authority, _, err = sign(root, root, private[0], private[0]); err != nil {
		return "", "", "", err
	}
	cert, key, err = sign(leaf, root, private[1], private[0])
	return authority, cert, key, err
}

// sign makes a certificate for a key. The parent's key signs it. The certificate is valid for 30 days, from
// an hour ago.
func sign(template, parent *x509.Certificate, private, by *ecdsa.PrivateKey) (cert, key string, err error) {
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(30*24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), by)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), nil
}
