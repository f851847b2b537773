package http

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/peer"
)

// peerKey is the context key of who sits at the other end of a local socket.
type peerKey struct{}

// authenticate finds out who calls: by a token, or by the local socket.
//
// Errors: [identity.ErrUnauthenticated]; [domain.ErrUnavailable] when the
// board cannot be asked.
func (d *Door) authenticate(r *nethttp.Request) (domain.ActorID, error) {
	header := r.Header.Get("Authorization")
	if p, local := r.Context().Value(peerKey{}).(peer.Peer); local && header == "" {
		err := p.Check()
		if errors.Is(err, domain.ErrForbidden) {
			d.refused("at the local socket: " + err.Error())
		}
		return domain.Operator, err
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	actor, err := d.verifier.Verify(r.Context(), strings.TrimSpace(token))
	if errors.Is(err, identity.ErrUnauthenticated) && header != "" {
		// Not for requests without any token: those are only clumsy.
		from, _, _ := net.SplitHostPort(r.RemoteAddr)
		d.refused("from " + from + ": " + err.Error())
	}
	return actor, err
}

// refused writes down that somebody could not prove who he is.
func (d *Door) refused(why string) {
	d.audit.Record(domain.AuditEntry{Verb: "authenticate", Object: "http", Outcome: domain.AuditRefused, Detail: why})
}

// withPeer notes who is at the other end of a connection, if it is local.
func withPeer(ctx context.Context, p peer.Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}
