package effect

import (
	"cmp"
	"crypto/tls"

	"github.com/ramet-run/ramet/internal/dialtls"
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
	c, err := dialtls.Config(t.CA, t.Cert, t.Key)
	if err != nil {
		return nil, err
	}
	c.ServerName, c.InsecureSkipVerify = cmp.Or(t.ServerName, host), t.Insecure
	// Mail has a connection for each mail: resumed, it is made in a fifth of the
	// time.
	c.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	return c, nil
}
