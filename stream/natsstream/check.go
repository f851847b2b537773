package natsstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// This file knows of each stream whether it takes messages. A server whose disk was
// full goes on answering what is read, and does not say of a stream that it writes
// nothing any more: it gives no answer to who publishes there.

const (
	// longAnswer is what no healthy stream takes to answer a publisher.
	longAnswer = time.Second
	// probeTime bounds one probe.
	probeTime = 2 * time.Second
)

// pulse is whether a stream took what was published last.
type pulse struct {
	mu    sync.Mutex
	cause string // why it did not; "": it did
	since time.Time

	probing sync.Mutex // held by the one who tries
}

// feel notes what came of publishing something.
func (p *pulse) feel(err error, took time.Duration) {
	cause := ""
	var api *jetstream.APIError
	switch {
	case err == nil:
	case errors.As(err, &api):
		if api.Code/100 != 5 {
			return // of the message, not of the stream
		}
		cause = api.Description
	case errors.Is(err, nats.ErrTimeout),
		took >= longAnswer && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		cause = "no answer"
	default:
		return // nothing is known of the stream
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if cause != "" && p.cause == "" {
		p.since = time.Now()
	}
	p.cause = cause
}

// trouble is since when and why a stream takes nothing; "": it does.
func (p *pulse) trouble() (cause string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause, p.since
}

// probeSubject is one of a stream's that nobody reads: no context, saga, effect or
// aggregate is called "%".
func probeSubject(name domain.StreamName) string {
	return strings.ReplaceAll(name.Subjects()[0], "*", "%")
}

// probe publishes something to a stream that took nothing. One that takes it again
// has a message more, of which sagas and effects do not hear.
func (p *publisher) probe(ctx context.Context) {
	if !p.pulse.probing.TryLock() {
		return // what the other finds is told to who asks next
	}
	defer p.pulse.probing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, _ = p.ask(ctx, &nats.Msg{Subject: probeSubject(p.name), Data: []byte("{}"), Header: nats.Header{}}) // it notes what comes of it
}

// takes is why a stream takes nothing, where it did not the last time.
func (p *publisher) takes(ctx context.Context) error {
	if cause, _ := p.pulse.trouble(); cause == "" {
		return nil
	}
	p.probe(ctx)
	cause, since := p.pulse.trouble()
	if cause == "" {
		return nil
	}
	return domain.Unavailablef("stream %s takes nothing since %s (%s): is the disk of its NATS server full? Make room, and start that server "+
		"again if it is no node's: it does not open the stream anew before", p.name, since.UTC().Format(time.RFC3339), cause)
}

// Check reports whether messages can be stored in these streams, or all. A stream
// that took what was published last is believed; one that did not is tried. Of streams that are named
// each is told what is its own.
func (l *Log) Check(ctx context.Context, streams ...domain.StreamName) error {
	if err := l.unwritable(); err != nil {
		return err
	}
	if len(streams) == 0 {
		if err := l.remade(); err != nil {
			return err
		}
		streams = []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents}
	}
	return eachTakes(ctx, streams, func(name domain.StreamName) error {
		err := stream.ValidateStream(name)
		if err == nil {
			err = l.keep(ctx, "look at stream "+string(name), func(ctx context.Context) error {
				_, other, err := l.look(ctx, name)
				return cmp.Or(err, other, l.remadeFor(name))
			})
		}
		if p := l.publishers[name]; err == nil && p != nil {
			err = p.takes(ctx)
		}
		return err
	})
}

// eachTakes is why some streams take nothing, each reason once. That there was no time left to look at one is none.
func eachTakes(ctx context.Context, streams []domain.StreamName, look func(domain.StreamName) error) error {
	var bad []string
	for _, name := range streams {
		err := look(name)
		if err != nil && ctx.Err() != nil && !errors.Is(err, domain.ErrUnavailable) {
			if len(bad) == 0 {
				return err
			}
			break
		}
		if err != nil && !slices.Contains(bad, err.Error()) {
			bad = append(bad, err.Error())
		}
	}
	if len(bad) > 0 {
		return domain.Unavailablef("%s", strings.Join(bad, "; "))
	}
	return nil
}
