package etcdboard_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

func TestAURLThatIsNoneIsRefused(t *testing.T) {
	for _, url := range []string{
		"etcd://", "http://localhost:2379", "etcd:///ramet", "etcd://h?ca=x", "etcds://h?other=1", "etcds://h?ca=/none", "etcds://h?cert=/none&key=/none",
		"etcd://u:12/secret@h", "etcd://u:12#secret@h", "etcds://h?ca=x;key=y",
	} {
		if _, err := etcdboard.Open(t.Context(), url, etcdboard.Config{}); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want invalid", url, err)
		}
	}
}

func TestAClusterThatCannotBeReachedIsUnavailable(t *testing.T) {
	_, err := etcdboard.Open(t.Context(), "etcd://127.0.0.1:1/ramet", etcdboard.Config{Answer: 200 * time.Millisecond})
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func TestAnotherProgramsKeysAreNoBoard(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	if _, err := client(t, server).Put(t.Context(), "theirs/k/1/x", "not ours"); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdboard.Open(t.Context(), etcdtest.URL("theirs", server), etcdboard.Config{}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want invalid", err)
	}
}

func TestAUserNeedsTheRightPassword(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	c := client(t, server)
	_, err := c.UserAdd(t.Context(), "root", "secret")
	if err == nil {
		_, err = c.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = c.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, "etcd://root:secret@"+server.Addr()+"/ramet")
	commit(t, b, in(sp).Set("r", board.Field{Name: "a", Value: "1"}))
	for _, user := range []string{"", "root:wrong@", "nobody:secret@"} {
		_, err := etcdboard.Open(t.Context(), "etcd://"+user+server.Addr()+"/ramet", etcdboard.Config{})
		if !errors.Is(err, domain.ErrUnavailable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("user %q: got %v, want unavailable", user, err)
		}
	}
}

func TestTheWayMayBeEncrypted(t *testing.T) {
	cert, key := certificate(t)
	server := etcdtest.Start(t, "--unsafe-no-fsync", "--cert-file="+cert, "--key-file="+key, "--trusted-ca-file="+cert, "--client-cert-auth")
	b := open(t, "etcds://"+server.Addr()+"/ramet?ca="+cert+"&cert="+cert+"&key="+key)
	commit(t, b, in(sp).Set("r", board.Field{Name: "a", Value: "1"}))
	if _, err := etcdboard.Open(t.Context(), "etcds://"+server.Addr()+"/ramet",
		etcdboard.Config{Answer: 500 * time.Millisecond}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a server nobody vouches for: got %v, want unavailable", err)
	}
}

// certificate makes one that vouches for itself, for both ends.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, b := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
