package myceliumbus

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

const (
	// answerTime is how long the daemon of a receiver may take to answer.
	answerTime = 5 * time.Second
	// maxProbes bounds the receivers that are watched.
	maxProbes = 4096
)

// reach knows of each receiver one parcel whose fate tells whether anybody is
// there. A daemon tries for 300 s and keeps the parcel twice as long, and each
// time that somebody pushes again it keeps one more: for a receiver that is away
// for hours that would fill its memory for nothing.
type reach struct {
	mu    sync.Mutex
	first map[string]probe // by key of the receiver
}

type probe struct {
	id string
	at time.Time
}

// pushed remembers a parcel, unless there is one for this receiver already.
func (r *reach) pushed(to, id string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.first[to]; known || len(r.first) >= maxProbes {
		return
	}
	r.first[to] = probe{id, now}
}

// due returns the parcel that is to be asked about by now.
func (r *reach) due(to string, now time.Time) (probe, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.first[to]
	return p, known && now.Sub(p.at) >= answerTime
}

// settled forgets a parcel.
func (r *reach) settled(to string, p probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first[to] == p {
		delete(r.first, to)
	}
}

// answers reports as an error that the daemon of a receiver has not answered
// since a while ago. It asks ours at most once in a while.
func (b *Bus) answers(ctx context.Context, to string) error {
	p, due := b.reach.due(to, time.Now())
	if !due {
		return nil
	}
	pending, err := b.daemon.pending(ctx, p.id)
	switch {
	case err != nil:
		return err
	case pending:
		return domain.Unavailablef("the Mycelium daemon of %s has not answered since %s; ours is trying", addressOf(to), p.at.UTC().Format(time.RFC3339))
	}
	b.reach.settled(to, p)
	return nil
}
