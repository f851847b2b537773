package natslink

import (
	"crypto/tls"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/dialtls"
)

// Start starts a server in this process and waits until it takes connections.
//
// Errors: [domain.ErrInvalid] for options that it does not take,
// [domain.ErrUnavailable].
func Start(opts *server.Options, log *ServerLog) (*server.Server, error) {
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, domain.Invalidf("embedded NATS server: %v", err)
	}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	for began := time.Now(); !s.ReadyForConnections(AnswerTime / 100); {
		if text := log.Worst(); text != "" || time.Since(began) > AnswerTime {
			Stop(s)
			return nil, domain.Unavailablef("embedded NATS server did not start: %s", text)
		}
	}
	return s, nil
}

// Stop ends a server and waits until it has ended; nil is none.
func Stop(s *server.Server) {
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// TLS reads PEM files: a certificate with its key for listeners, and whom to
// trust where we connect. serve is nil without the former.
//
// Errors: [domain.ErrInvalid], those of [domain.FileErrorf].
func TLS(cert, key, ca string) (serve, dial *tls.Config, err error) {
	if (cert == "") != (key == "") {
		return nil, nil, domain.Invalidf("TLS needs a certificate and its key: give both or none")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, nil, domain.FileErrorf(err, "TLS certificate %q with key %q: %v", cert, key, err)
		}
		serve = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if dial, err = dialtls.Config(ca, "", ""); err != nil {
		return nil, nil, err
	}
	return serve, dial, nil
}

// HostPort reads where to listen, as NATS wants it. Port 0 is any.
//
// Errors: [domain.ErrInvalid].
func HostPort(text string) (string, int, error) {
	name, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, domain.Invalidf("listen at %q: want host:port", text)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0, domain.Invalidf("listen at %q: want a port of 0 to 65535", text)
	}
	if n == 0 {
		return name, server.RANDOM_PORT, nil
	}
	return name, int(n), nil
}
