package etcdboard

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ramet-run/ramet/domain"
)

// translate turns what the client says into a kind of error. The client's
// error never leaves the driver.
func (b *Board) translate(err error) error {
	if err == nil {
		return nil
	}
	var known rpctypes.EtcdError
	code, text := status.Code(err), err.Error()
	if errors.As(err, &known) {
		code, text = known.Code(), known.Error()
	}
	switch {
	case b.closing.Err() != nil:
		return errClosed()
	case errors.Is(err, rpctypes.ErrTooManyOps):
		return domain.Exhaustedf("etcd at %s takes fewer operations in a transaction than ramet needs: start it with --max-txn-ops=128 or more", b.addr)
	case errors.Is(err, rpctypes.ErrRequestTooLarge), code == codes.ResourceExhausted && strings.Contains(text, "larger than max"):
		return domain.Invalidf("the batch is larger than etcd at %s takes: its --max-request-bytes is 1.5 MiB unless set", b.addr)
	case errors.Is(err, rpctypes.ErrNoSpace):
		return domain.Exhaustedf("etcd at %s has reached its --quota-backend-bytes: compact, defragment and disarm it (etcdctl alarm disarm)", b.addr)
	case code == codes.ResourceExhausted:
		return domain.Exhaustedf("etcd at %s refuses the request: %s", b.addr, text)
	case code == codes.Unauthenticated, errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrUserEmpty):
		return domain.Unavailablef("etcd at %s refuses the user name or password", b.addr)
	case code == codes.PermissionDenied:
		return domain.Unavailablef("etcd at %s does not allow its user to read and write under %q", b.addr, b.prefix)
	case errors.Is(err, context.DeadlineExceeded), code == codes.DeadlineExceeded:
		return domain.Unavailablef("etcd at %s does not answer", b.addr)
	}
	return domain.Unavailablef("etcd at %s cannot be reached: %s", b.addr, text)
}
