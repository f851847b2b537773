package natslink

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Words is what an error of the client says, without its type. None of those
// that reach it shows a URL or a secret.
func Words(err error) string {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "nobody takes it"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return "no answer"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired):
		return "the server refuses this node's key or credentials"
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrReconnectBufExceeded),
		errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrNoServers):
		return "the server cannot be reached"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return "the server has no JetStream for this node, or does not let it do that"
	}
	return err.Error()
}
