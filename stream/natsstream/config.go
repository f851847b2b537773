package natsstream

import (
	"cmp"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// Config is how to open the streams. DataDir is required, or URL.
type Config struct {
	// URL is nats://host[:4222][,host…] or tls://…, where somebody runs a server
	// or cluster. It may have user:password@ or token@ before its hosts.
	// Default: a server in this process.
	URL string
	// MayLose allows what is acknowledged to be lost in a power cut: the embedded
	// server does not sync, and an external one need not. It is ten times as fast
	// where there is one publisher.
	MayLose bool
	// Logger hears of lost and found connections. Default: none.
	Logger *slog.Logger

	// What follows is for the embedded server.

	// DataDir is the node's folder; the streams lie in its folder streams.
	DataDir string
	// AcceptLoss opens streams whose files are damaged, without what is lost. What
	// can be read is kept, and so are the files as they were.
	AcceptLoss bool
	// Listen is host:port where it takes the connections of other programs. Port
	// 0: any. It needs TokenFile, and TLS unless the host is of the loopback.
	// Default: nowhere.
	Listen string
	// TLSCert and TLSKey are PEM files for the listener: with them, it takes TLS
	// only.
	TLSCert, TLSKey string

	// Node is this node's public key, 64 hex digits: other nodes log in to it by
	// that name. Nodes says whether a link key is that of a node of this board.
	// Default: none is.
	Node  string
	Nodes func(link string) bool
	// Producers are programs that publish events of a context, by their nkeys.
	Producers []Producer

	// TokenFile holds the token with which other programs log in to the embedded
	// server, to publish events of any context and do nothing else; or this one
	// to an external server.
	TokenFile string

	// What follows is for an external server.

	// Link logs the node in: to the server inside the node with the public key
	// KeyOf; or with Login to a plain one, where nothing else is said.
	Link  natslink.Key
	KeyOf string
	Login bool
	// CredsFile holds NATS credentials, NkeyFile the seed of a user's nkey.
	CredsFile, NkeyFile string
	// CA is a PEM file that says who may have signed the server's certificate.
	// Default: whom the system trusts.
	CA string
	// Replicas is with how many replicas missing streams are made, and how many
	// those that are there must have: 1 or 3. Default: 3.
	Replicas int
	// SyncDeclared says that its owner has set "sync_interval: always" on a
	// server without replicas. It cannot be asked.
	SyncDeclared bool
	// NoCreate has missing streams be an error, for those who may not make them.
	NoCreate bool
	// Known are streams that were there before: a missing one is lost, and is not
	// made anew.
	Known []domain.StreamName
}

const (
	maxToken = 4 << 10 // bytes of a token's file
	minToken = 16      // characters of the token that others log in with
)

func (c Config) filled() Config {
	c.Replicas = cmp.Or(c.Replicas, 3)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) embedded() bool { return c.URL == "" }

// validate finds what does not go together.
//
// Errors: [domain.ErrInvalid], those of [domain.FileErrorf].
func (c Config) validate() error {
	if c.embedded() {
		switch {
		case c.DataDir == "":
			return domain.Invalidf("the embedded NATS server of the streams needs a data folder")
		case c.KeyOf != "" || c.Login || c.CredsFile != "" || c.NkeyFile != "" || c.CA != "" || c.NoCreate || c.SyncDeclared:
			return domain.Invalidf("the embedded NATS server needs no log-in, and makes and syncs its streams itself")
		case c.Listen == "" && (len(c.Producers) > 0 || c.TokenFile != "" || c.TLSCert != "" || c.TLSKey != ""):
			return domain.Invalidf("a token, producer or certificate for the embedded NATS server, which listens nowhere")
		}
		if _, err := once(c.Producers, nil); err != nil {
			return err
		}
		return c.validateListen()
	}
	switch {
	case c.Listen != "" || c.TLSCert != "" || c.TLSKey != "" || len(c.Producers) > 0:
		return domain.Invalidf("with an external NATS server there is none of our own to listen")
	case c.Replicas != 1 && c.Replicas != 3:
		return domain.Invalidf("%d replicas: want 1 or 3", c.Replicas)
	case c.Replicas == 1 && !c.SyncDeclared && !c.MayLose:
		return errUnsynced(1)
	}
	for _, name := range []string{c.CredsFile, c.NkeyFile, c.CA} {
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			return domain.FileErrorf(err, "NATS log-in: %v", err)
		}
	}
	return nil
}

// validateListen keeps tokens from crossing a network in the clear.
func (c Config) validateListen() error {
	if c.Listen == "" || c.TLSCert != "" {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return domain.Invalidf("listen at %q: want host:port", c.Listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return domain.Invalidf("the embedded NATS server is to listen at %q: without TLS it may at 127.0.0.1 only, for its token would cross the network "+
		"in the clear; give it a certificate and key", c.Listen)
}

// errUnsynced refuses a server that forgets what it has acknowledged.
func errUnsynced(replicas int) error {
	return domain.Invalidf("NATS streams with %d replica(s) on an external server may lose acknowledged messages in a power cut: use a cluster and "+
		"replicas=3; or set \"sync_interval: always\" on the server and say sync=always; or say that messages may be lost", replicas)
}

// token reads a token from its file.
//
// Errors: [domain.ErrInvalid], those of [domain.FileErrorf].
func (c Config) token() (string, error) {
	if c.TokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", domain.FileErrorf(err, "NATS token: %v", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || len(text) > maxToken {
		return "", domain.Invalidf("NATS token file %q: want one token of up to %d bytes", c.TokenFile, maxToken)
	}
	if c.embedded() && len(token) < minToken {
		return "", domain.Invalidf("NATS token file %q: want a token of at least %d characters", c.TokenFile, minToken)
	}
	return token, nil
}

// servers reads the URL.
//
// Errors: [domain.ErrInvalid]. None shows the URL, for it may hold a password.
func (c Config) servers() (urls, names string, err error) {
	kind, hosts, ok := strings.Cut(c.URL, "://")
	if !ok || (kind != "nats" && kind != "tls") {
		return "", "", domain.Invalidf("NATS URL begins with neither nats:// nor tls://")
	}
	urls, names, _, err = natslink.Servers(kind, strings.TrimSuffix(hosts, "/"))
	return urls, names, err
}

// folder is where the embedded server keeps its streams.
func (c Config) folder() string { return filepath.Join(c.DataDir, "streams") }
