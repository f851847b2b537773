package natsstream

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
)

// This file notices that a stream is not the one that was opened: it was deleted
// and made anew, or its server has lost what it had. Sagas would pass over what such
// a stream takes, up to where they had come in the other.

// origin is what is known of a stream since it was opened.
type origin struct {
	created time.Time
	last    atomic.Uint64 // what is stored from then on is behind it
}

// remade is why nothing is stored any more in a stream that is another; nil while
// none is.
func (l *Log) remade() error {
	if err := l.others.Load(); err != nil {
		return *err
	}
	return nil
}

// same looks whether a stream is the one that was opened.
func (l *Log) same(name domain.StreamName, info *jetstream.StreamInfo) error {
	o := l.origins[name]
	switch {
	case o == nil: // it is being opened
		return nil
	case !info.Created.Equal(o.created):
		return l.other("stream %s was made anew at %s", name, info.Created.UTC().Format(time.RFC3339))
	case info.State.LastSeq >= o.last.Load():
		return nil
	case l.cfg.MayLose:
		o.last.Store(info.State.LastSeq)
		return nil
	}
	return l.other("stream %s ends at %d, and had %d messages", name, info.State.LastSeq, o.last.Load())
}

func (l *Log) other(format string, args ...any) error {
	text := domain.Unavailablef(format+": sagas would pass over what it takes now; give the nodes the streams that they had, or restart all of them, "+
		"the first one with --accept-loss", args...)
	if l.others.CompareAndSwap(nil, &text) {
		l.cfg.Logger.Error("the event streams take nothing more from this node", "err", text)
	}
	return l.remade()
}

// behind looks at the number that a stream gave to what it stored (the last one, of
// a batch): one that it had given before is of another stream.
func (p *publisher) behind(ctx context.Context, a stored) error {
	o := p.l.origins[p.name]
	if o == nil || a.Duplicate || a.Seq-uint64(max(a.Count, 1)) >= o.last.Load() {
		return nil
	}
	st, err := p.l.js.Stream(ctx, string(p.name))
	if err != nil {
		return errors.Join(errAway, err)
	}
	return p.l.same(p.name, st.CachedInfo())
}
