package http

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/identity/cookie"
	"github.com/ramet-run/ramet/internal/peer"
)

// peerKey is the context key of who sits at the other end of a local socket.
type peerKey struct{}

// authenticate finds out who calls: by a token, or at a local socket by the
// node's cookie.
//
// Errors: [domain.ErrUnauthenticated]; a *[budget.TooOften]; [domain.ErrForbidden] for another
// user at the local socket; [domain.ErrUnavailable] when the board cannot be
// asked.
func (d *Door) authenticate(r *nethttp.Request) (identity.Proof, error) {
	header := r.Header.Get("Authorization")
	scheme, proof, _ := strings.Cut(header, " ")
	proof = strings.TrimSpace(proof)
	if p, local := r.Context().Value(peerKey{}).(peer.Peer); local && strings.EqualFold(scheme, cookie.Scheme) {
		err := p.Check()
		if err == nil {
			err = d.cfg.Cookie.Verify(proof)
		}
		if errors.Is(err, domain.ErrForbidden) {
			d.refused("at the local socket: " + err.Error())
		}
		return identity.Proof{Actor: domain.Operator}, err
	}
	if !strings.EqualFold(scheme, "Bearer") {
		proof = ""
	}
	if header != "" {
		if err := seatOf(r).MayTry(); err != nil {
			return identity.Proof{}, err
		}
	}
	who, err := d.cfg.Tokens.Verify(r.Context(), proof)
	if errors.Is(err, domain.ErrUnauthenticated) && header != "" {
		// Not for requests without any token: those are only clumsy.
		seatOf(r).Refused()
		d.refused("from " + addressOf(r) + ": " + err.Error())
	}
	return who, err
}

// addressOf is where a request comes from, without the port.
func addressOf(r *nethttp.Request) string {
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	return from
}

// refused writes down that somebody could not prove who he is.
func (d *Door) refused(why string) {
	d.audit.Record(domain.AuditEntry{Verb: "authenticate", Object: "http", Outcome: domain.AuditRefused, Detail: why})
}

// withPeer notes who is at the other end of a connection, if it is local.
func withPeer(ctx context.Context, p peer.Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}
