// Package dialtls makes the configurations of private connections to other
// people's servers from the files that URLs and the config file name.
package dialtls

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"

	"github.com/ramet-run/ramet/domain"
)

// Config is for connections to servers for which one of ca's certificates vouches,
// "" for whom the system trusts. With cert and key, by which the server knows us,
// both or none; they are read for each connection, so that they can be renewed. All
// are PEM files.
//
// Errors: [domain.ErrInvalid], and those of [domain.FileErrorf].
func Config(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, domain.FileErrorf(err, "tls: ca: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, domain.Invalidf("tls: ca: file %s has no certificate in PEM", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, domain.Invalidf("tls: cert and key go together")
	}
	if cert == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
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

// FromURL is [Config] of the parameters ca, cert and key of a URL, which it takes
// out of them.
//
// Errors: those of Config.
func FromURL(q url.Values) (*tls.Config, error) {
	ca, cert, key := q.Get("ca"), q.Get("cert"), q.Get("key")
	for _, name := range []string{"ca", "cert", "key"} {
		q.Del(name)
	}
	return Config(ca, cert, key)
}
