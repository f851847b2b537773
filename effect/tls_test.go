package effect_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/testcert"
)

func TestTLSOptions(t *testing.T) {
	cert := testcert.New(t)
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		options effect.TLS
		want    string // in the error
	}{
		{"no CA", effect.TLS{CA: "/nowhere/ca.pem"}, "no such file"},
		{"a CA that is none", effect.TLS{CA: empty}, "has no certificate in PEM"},
		{"a certificate without its key", effect.TLS{Cert: cert.Cert}, "cert and key go together"},
		{"a key that is none", effect.TLS{Cert: cert.Cert, Key: empty}, "cert and key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.options.Config("example.com")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestTLSShowsTheCertificateThatThereIsNow(t *testing.T) {
	server, first, second := testcert.New(t), testcert.New(t), testcert.New(t)
	config, err := effect.TLS{CA: server.CA, Cert: first.Cert, Key: first.Key}.Config("example.com")
	if err != nil {
		t.Fatal(err)
	}
	shown := func() *x509.Certificate {
		t.Helper()
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		cfg := server.Server.Clone()
		cfg.ClientAuth = tls.RequireAnyClientCert
		cfg.SessionTicketsDisabled = true
		done := make(chan error, 1)
		s := tls.Server(far, cfg)
		go func() { done <- s.Handshake() }()
		if err := tls.Client(near, config).Handshake(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		return s.ConnectionState().PeerCertificates[0]
	}
	for _, c := range []testcert.Certificate{first, second} {
		for from, to := range map[string]string{c.Cert: first.Cert, c.Key: first.Key} {
			text, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := shown(); !got.Equal(leaf(t, c)) {
			t.Error("got another certificate than the file has")
		}
	}
}

func leaf(t *testing.T, c testcert.Certificate) *x509.Certificate {
	t.Helper()
	got, err := x509.ParseCertificate(c.Server.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return got
}
