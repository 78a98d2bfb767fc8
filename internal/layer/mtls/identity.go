package mtls

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"time"
)

type key string

const (
	p256    key = "ecdsa-p256"
	p384    key = "ecdsa-p384"
	rsa2048 key = "rsa-2048"
)

func (k key) rsa() bool { return strings.HasPrefix(string(k), "rsa-") }

func (k key) make() (crypto.Signer, error) {
	switch k {
	case p256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case p384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	}
	bits, err := strconv.Atoi(strings.TrimPrefix(string(k), "rsa-"))
	if err != nil {
		return nil, fmt.Errorf("no key is called %q", k)
	}
	return rsa.GenerateKey(rand.Reader, bits)
}

func keyOf(c *x509.Certificate) string {
	switch public := c.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return fmt.Sprintf("ecdsa-p%d", public.Curve.Params().BitSize)
	case *rsa.PublicKey:
		return fmt.Sprintf("rsa-%d", public.N.BitLen())
	}
	return fmt.Sprintf("%T", c.PublicKey)
}

// These are SPIFFE identities (SPIFFE-ID.md, section 2) in the form that Istio uses.
const (
	clientIdentity   = "spiffe://tare/ns/site/sa/client"
	serverIdentity   = "spiffe://tare/ns/site/sa/server"
	strangerIdentity = "spiffe://tare/ns/site/sa/stranger" // certified by the layer's authority, but the server's proxy must refuse it
)

const lifetime = 90 * 24 * time.Hour // validity of certificates, which is longer than any run

// identity is a certificate with its key, in PEM.
type identity struct {
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

type identities struct {
	authority                string // the authority's certificate, in PEM
	client, server, stranger identity
}

func issue(k key) (ids identities, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return ids, fmt.Errorf("make the authority's key: %w", err)
	}
	a := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"Tare"}, CommonName: "authority of one set-up"},
		// an hour in the past, since the clocks of pods may differ a little
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, a, a, key.Public(), key)
	if err != nil {
		return ids, fmt.Errorf("make the authority's certificate: %w", err)
	}
	ids.authority = inPEM("CERTIFICATE", raw)
	for i, who := range []struct {
		id   string
		into *identity
	}{{clientIdentity, &ids.client}, {serverIdentity, &ids.server}, {strangerIdentity, &ids.stranger}} {
		if *who.into, err = certify(a, key, int64(i)+2, who.id, k); err != nil {
			return ids, fmt.Errorf("make the identity %s: %w", who.id, err)
		}
	}
	return ids, nil
}

// certify makes a key and a certificate of the identity id. Its common name is the identity's last part: HAProxy
// compares and prints only common names.
func certify(authority *x509.Certificate, authorityKey crypto.Signer, serial int64, id string, k key) (identity, error) {
	key, err := k.make()
	if err != nil {
		return identity{}, err
	}
	uri, err := url.Parse(id)
	if err != nil {
		return identity{}, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{Organization: []string{"Tare"}, CommonName: account(id)},
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter, URIs: []*url.URL{uri},
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if k.rsa() {
		c.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, authority, key.Public(), authorityKey)
	if err != nil {
		return identity{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return identity{}, err
	}
	return identity{Certificate: inPEM("CERTIFICATE", raw), Key: inPEM("PRIVATE KEY", private)}, nil
}

func inPEM(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}
