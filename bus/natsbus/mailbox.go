package natsbus

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
)

// What a node's account may hold: its mailbox, and a second consumer while one
// is looked at.
const (
	maxStreams   = 1
	maxConsumers = 2
)

// roomFor is the storage of an account with a mailbox of so many bytes.
func roomFor(bytes int64) int64 { return bytes + bytes/8 + 8<<20 }

// limits are what a mailbox is made with.
type limits struct {
	age      time.Duration
	bytes    int64
	parcels  int64 // of one sender
	ackWait  time.Duration
	replicas int
}

func (l limits) stream(key string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        mailbox(key),
		Description: "parcels for one Ramet node",
		Subjects:    mailboxSubjects(key),
		Storage:     jetstream.FileStorage,
		Replicas:    l.replicas,
		// What is acknowledged goes.
		Retention: jetstream.WorkQueuePolicy,
		// Beyond a limit the oldest go. A subject is one sender's, so one that
		// floods a mailbox loses its own first.
		Discard:           jetstream.DiscardOld,
		MaxAge:            l.age,
		MaxBytes:          l.bytes,
		MaxMsgsPerSubject: l.parcels,
		MaxMsgSize:        bus.MaxParcel,
	}
}

func (l limits) consumer() jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       l.ackWait,
		MaxDeliver:    -1,
		MaxAckPending: 4 * fetchParcels,
		MaxWaiting:    512,
	}
}

// findMailbox looks for the mailbox of a node and makes what is missing. What is
// there stays as it is: an operator may have changed it. found is told of the
// stream as soon as it is there, for senders may use it from then on: a cluster
// that is choosing places can have the stream and refuse the consumer.
func findMailbox(ctx context.Context, js jetstream.JetStream, key string, l limits, found func(jetstream.StreamConfig)) error {
	s, err := js.Stream(ctx, mailbox(key))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = js.CreateStream(ctx, l.stream(key))
	}
	if err != nil {
		return err
	}
	found(s.CachedInfo().Config)
	_, err = js.Consumer(ctx, mailbox(key), consumerName)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = js.CreateConsumer(ctx, mailbox(key), l.consumer())
	}
	return err
}

// durability is what a parcel survives in a mailbox so configured.
func durability(c jetstream.StreamConfig, synced bool) board.Durability {
	switch {
	case c.Storage == jetstream.MemoryStorage:
		return board.DurableMemory
	case c.Replicas >= 3:
		return board.DurableQuorum
	case synced:
		return board.DurableDisk
	}
	return board.DurableProcess
}
