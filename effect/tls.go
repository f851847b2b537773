package effect

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/ramet-run/ramet/domain"
)

// TLS is the options of a private connection, as the operator wrote them.
type TLS struct {
	// CA is a PEM file with the certificates that are trusted in place of the
	// machine's.
	CA string `yaml:"ca"`
	// Cert and Key are PEM files by which the target knows us. They are read
	// for each connection, so that they can be changed.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ServerName is what the target's certificate is for. Default: its host.
	ServerName string `yaml:"server_name"`
	// Insecure takes any certificate: who sits between reads and writes along.
	Insecure bool `yaml:"insecure"`
}

// Config makes the configuration for connections to a host.
//
// Errors: [domain.ErrInvalid], and those of [domain.FileErrorf].
func (t TLS) Config(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: t.Insecure,
		// Mail has a connection for each letter: resumed, it is made in a fifth of
		// the time.
		ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, domain.FileErrorf(err, "tls: ca: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, domain.Invalidf("tls: ca: file %s has no certificate in PEM", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, domain.Invalidf("tls: cert and key go together")
	}
	if t.Cert == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, domain.FileErrorf(err, "tls: cert and key: %v", err)
		}
		return &pair, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return c, nil
}
