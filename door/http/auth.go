package http

import (
	"context"
	"errors"
	"log/slog"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// peerKey is the context key of who sits at the other end of a local socket.
type peerKey struct{}

// peer is what the kernel says of the other end.
type peer struct {
	uid int
	err error
}

// authenticate finds out who calls: by a token, or by the local socket.
//
// Errors: [identity.ErrUnauthenticated]; [domain.ErrUnavailable] when the
// board cannot be asked.
func (d *Door) authenticate(r *nethttp.Request) (domain.ActorID, error) {
	header := r.Header.Get("Authorization")
	if p, local := r.Context().Value(peerKey{}).(peer); local && header == "" {
		return domain.Operator, p.check()
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	actor, err := d.verifier.Verify(r.Context(), strings.TrimSpace(token))
	if errors.Is(err, identity.ErrUnauthenticated) && header != "" {
		// Not for requests without any token: those are only clumsy.
		d.audit.LogAttrs(r.Context(), slog.LevelWarn, "token refused", slog.String("from", r.RemoteAddr),
			slog.String("path", r.URL.Path), slog.Any("err", err))
	}
	return actor, err
}

// check lets the node's own user and root in.
func (p peer) check() error {
	if p.err != nil {
		return domain.Unavailablef("the local socket does not say who calls: %v", p.err)
	}
	if p.uid != 0 && p.uid != ownUID() {
		return domain.Forbiddenf("the local socket is for the user who runs the node, and for root; send a token")
	}
	return nil
}

// withPeer notes who is at the other end of a connection, if it is local.
func withPeer(ctx context.Context, p peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}
