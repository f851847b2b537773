package natsstream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
)

// This file notices that a stream is not the one that was opened: it was deleted
// and made anew, or its server has lost what it had. Sagas would pass over what such
// a stream takes, up to where they had come in the other.

// origin is what is known of a stream.
type origin struct {
	created time.Time     // of that which was opened
	last    atomic.Uint64 // the highest number that it is known to have given
	told    atomic.Uint64 // what others last said that it had; that becomes less only where a node has gone on with less
}

// raise notes that the stream has given a number.
func (o *origin) raise(seq uint64) {
	for had := o.last.Load(); seq > had && !o.last.CompareAndSwap(had, seq); had = o.last.Load() {
	}
}

// had is the highest number that a stream was known to have given. Who asks the stream looks
// before that: meanwhile others may hear of more.
func (l *Log) had(name domain.StreamName) uint64 {
	if o := l.origins[name]; o != nil {
		return o.last.Load()
	}
	return 0 // it is being opened
}

// Had implements [stream.Told].
func (l *Log) Had(name domain.StreamName, created time.Time, last uint64) {
	o := l.origins[name]
	switch {
	case o == nil:
	case created.After(o.created):
		l.goneOn.Store(true)
	case o.created.Equal(created):
		if o.told.Swap(last) > last {
			l.goneOn.Store(true)
		}
		o.raise(last)
	}
}

// strange is the first stream that was found to be another, and how that shows.
type strange struct {
	name domain.StreamName
	what string
}

// remade is why nothing is stored any more, in any stream, as one is another; nil while none is.
func (l *Log) remade() error {
	first := l.others.Load()
	if first == nil {
		return nil
	}
	return l.refuses(first.what)
}

// remadeFor is [Log.remade] as it concerns one stream: what ails another one is that one's.
func (l *Log) remadeFor(name domain.StreamName) error {
	first := l.others.Load()
	if first == nil || first.name == name {
		return l.remade()
	}
	return domain.Unavailablef("stream %s takes nothing from this node while stream %s is not what it was", name, first.name)
}

// refuses says what is to be done about a stream that is another.
func (l *Log) refuses(what string) error {
	if l.goneOn.Load() { // to put back what there was would lose what that node has taken since
		return domain.Unavailablef("%s; another node has gone on with the streams as they are: restart this one", what)
	}
	return domain.Unavailablef("%s: sagas would pass over what it takes now; give the nodes the streams that they had and restart all of them; "+
		"only where these are lost, the first one with --accept-loss", what)
}

// Passed implements [stream.Told].
func (l *Log) Passed() error {
	if !l.goneOn.Load() {
		return nil
	}
	return l.remade()
}

// look asks a stream what it has; other is why it is not the one that was opened, or has lost
// what it had.
func (l *Log) look(ctx context.Context, name domain.StreamName) (info *jetstream.StreamInfo, other, err error) {
	had := l.had(name)
	s, err := l.js.Stream(ctx, string(name))
	if err != nil {
		return nil, nil, err
	}
	return s.CachedInfo(), l.same(name, s.CachedInfo(), had), nil
}

// same looks whether a stream is the one that was opened, and still has what it had before
// it was asked.
func (l *Log) same(name domain.StreamName, info *jetstream.StreamInfo, had uint64) error {
	o := l.origins[name]
	switch {
	case o == nil: // it is being opened
		return nil
	case !info.Created.Equal(o.created):
		return l.other(name, "was made anew at %s", info.Created.UTC().Format(time.RFC3339))
	case info.State.LastSeq >= had:
		o.raise(info.State.LastSeq)
		return nil
	case l.cfg.MayLose:
		o.last.CompareAndSwap(had, info.State.LastSeq)
		return nil
	case info.Config.Replicas > 1:
		// A replica that does not know yet that another leads answers like this, for a while.
		return domain.Unavailablef("stream %s ends at %d, and had %d messages: one of its NATS servers is behind, or they have lost what they had",
			name, info.State.LastSeq, had)
	}
	return l.other(name, "ends at %d, and had %d messages", info.State.LastSeq, had)
}

// other notes that a stream is another, and returns why nothing is stored there.
func (l *Log) other(name domain.StreamName, format string, args ...any) error {
	text := "stream " + string(name) + " " + fmt.Sprintf(format, args...)
	if l.others.CompareAndSwap(nil, &strange{name, text}) {
		l.cfg.Logger.Error("the event streams take nothing more from this node", "err", l.remade())
	}
	return l.refuses(text)
}

// behind looks at the number that a stream gave to what it stored (the last one, of
// a batch): one that it had given before this was sent is of another stream.
func (p *publisher) behind(ctx context.Context, a stored, had uint64) error {
	o := p.l.origins[p.name]
	if o == nil || a.Duplicate {
		return nil
	}
	first := a.Seq - uint64(max(a.Count, 1))
	if first >= had {
		o.raise(a.Seq)
		return nil
	}
	_, other, err := p.l.look(ctx, p.name) // it may tell more
	switch {
	case err != nil:
		return errors.Join(errAway, err)
	case p.l.cfg.MayLose:
		return other
	}
	return p.l.other(p.name, "ended at %d, and had %d messages", first, had) // also where it has more by now
}

// watch looks at the streams whenever their server was away, until the log is closed: one that came
// back with less would give out again the numbers that it has lost.
func (l *Log) watch() {
	for {
		life, err := l.wire.Await(l.run, time.Minute)
		ctx, cancel := context.WithCancel(life)
		closing := context.AfterFunc(l.run, cancel)
		for tries := 0; err == nil && ctx.Err() == nil && !l.lookAll(ctx); tries++ {
			l.pause(ctx, tries)
		}
		closing()
		cancel()
		select {
		case <-life.Done():
		case <-l.run.Done():
		}
		if err != nil || l.closed() {
			return
		}
	}
}

// lookAll looks at all streams, and says whether they could be asked.
func (l *Log) lookAll(ctx context.Context) bool {
	for _, name := range domain.StreamNames {
		if err := l.keep(ctx, "look at stream "+string(name), func(ctx context.Context) error {
			_, _, err := l.look(ctx, name)
			return err
		}); err != nil {
			return false
		}
	}
	return true
}
