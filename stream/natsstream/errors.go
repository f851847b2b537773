package natsstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

var (
	errClosed = domain.Unavailablef("stream log is closed")
	errAway   = domain.Unavailablef("NATS server of the streams cannot be reached")
)

// errBehind is of a replica that has not heard of all messages yet.
var errBehind = errors.New("a replica is behind")

// Errors of the server that this driver knows.
const (
	codeNoPeers         jetstream.ErrorCode = 10005 // no suitable peers for placement
	codeNoCluster       jetstream.ErrorCode = 10008 // JetStream system temporarily unavailable
	codeConsumerInUse   jetstream.ErrorCode = 10013 // consumer name already in use
	codeNoMessage       jetstream.ErrorCode = 10037 // no message found
	codeTooLarge        jetstream.ErrorCode = 10054 // message size exceeds maximum allowed
	codeNoReplicas      jetstream.ErrorCode = 10074 // replicas > 1 not supported in non-clustered mode
	codeConsumerExists  jetstream.ErrorCode = 10148 // consumer already exists
	codeDuplicateUnsure jetstream.ErrorCode = 10158 // duplicate message id is in process
	codeBatchDisabled   jetstream.ErrorCode = 10174 // atomic publish is disabled
	codeBatchIncomplete jetstream.ErrorCode = 10176 // atomic publish batch is incomplete
	codeBatchHeader     jetstream.ErrorCode = 10177 // atomic publish unsupported header used
	codeBatchTooLarge   jetstream.ErrorCode = 10199 // atomic publish batch is too large
	codeBatchDuplicate  jetstream.ErrorCode = 10201 // atomic publish batch contains duplicate message id
	codeBatchTooMany    jetstream.ErrorCode = 10210 // atomic publish too many inflight
)

// apiCode is the server's number for what is wrong, 0 for none.
func apiCode(err error) jetstream.ErrorCode {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode
	}
	return 0
}

// passing says whether an error is of a broker that is away for a moment, and
// has done nothing.
func passing(err error) bool {
	switch {
	case refused(err):
		return false // its messages are tried alone
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionReconnecting),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, jetstream.ErrNoStreamResponse),
		errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, errBehind):
		return true
	}
	switch apiCode(err) {
	case codeNoPeers: // a young cluster comes to know its servers one by one
		return true
	case codeNoCluster, codeBatchIncomplete, codeBatchTooMany, codeDuplicateUnsure:
		return true
	}
	return false
}

// translate is an error of the client as the contract has it.
func (l *Log) translate(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case l.closed():
		return errClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case refused(err), errors.Is(err, domain.ErrInvalid), errors.Is(err, domain.ErrUnavailable), errors.Is(err, domain.ErrConflict),
		errors.Is(err, domain.ErrNotFound):
		return err // ours
	case errors.Is(err, nats.ErrMaxPayload), apiCode(err) == codeTooLarge:
		return domain.Invalidf("%s: the NATS server takes no message that large", what)
	case errors.Is(err, nats.ErrDisconnected):
		return errAway
	}
	if text := l.wire.Denied(); text != "" && (errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)) {
		return domain.Unavailablef("%s: no answer; the NATS server does not let this node use a subject: %s", what, text)
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return domain.Unavailablef("%s: %s (NATS error %d)", what, api.Description, api.ErrorCode)
	}
	return domain.Unavailablef("%s: %s", what, natslink.Words(err))
}

// apiText is what the server says of an error.
func apiText(err error) string {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.Description
	}
	return natslink.Words(err)
}
