package natstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority makes certificates for one test, in its own folder.
type Authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority whose own certificate is the file ca.pem.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	a.issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// Issue makes a certificate for 127.0.0.1 and the common name: the files <name>.pem and <name>.key. Servers and clients can
// show it.
func (a *Authority) Issue(name string) {
	a.t.Helper()
	a.issue(name, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

// Path is where a file of the authority is, or where the test may put one.
func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) issue(name string, template *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.require(err)
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if a.cert == nil {
		a.cert, a.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	a.require(err)
	private, err := x509.MarshalECPrivateKey(key)
	a.require(err)
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", private)
	if a.cert == template {
		a.cert, err = x509.ParseCertificate(der)
		a.require(err)
	}
}

func (a *Authority) write(name, kind string, der []byte) {
	a.t.Helper()
	a.require(os.WriteFile(a.Path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func (a *Authority) require(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("natstest: certificate: %v", err)
	}
}
