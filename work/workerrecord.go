package work

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file keeps the records by which workers are listed among the runners, each its actor's own.

// touch says that a worker is alive which has all that it can do in hand.
func (e *Engine) touch(ctx context.Context, w domain.Worker, now time.Time) error {
	if due, err := e.workers.due(w, now); err != nil || !due {
		return nil // it is written down with a later claim
	}
	key := layout.Runner(w.RunnerID())
	b := ownRecord(w)
	b.Set(key, layout.SeenField(e.board.Now())).Expire(key, workerKept)
	err := e.board.Commit(ctx, b)
	switch {
	case errors.Is(err, domain.ErrConflict):
		e.workers.forget(w) // it is not listed, and is written down with its next claim
		return nil
	case err == nil:
		e.workers.wrote(w, now)
	}
	return err
}

// ownRecord begins a batch that goes through only where the record of the worker's id is its
// own: another name may come to the same id.
func ownRecord(w domain.Worker) board.Batch {
	key := layout.Runner(w.RunnerID())
	b := board.Batch{Space: layout.SpaceOf(w.Context)}
	b.Equal(key, layout.RunnerWorker, w.Name).Equal(key, layout.RunnerActor, strconv.FormatUint(uint64(w.Actor), 10))
	return b
}

// workerCache remembers when the workers that ask here were last written down as runners.
type workerCache struct {
	mu      sync.Mutex
	written map[domain.Worker]time.Time
	claims  map[domain.Worker]int // of those that are written down, so far
	swept   time.Time             // when those that say nothing any more were last let go
}

// turn is how many claims the worker had before. It is its own: by a number that all share,
// the same worker might always begin with the same queue.
func (k *workerCache) turn(w domain.Worker) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.claims == nil {
		k.claims = map[domain.Worker]int{}
	}
	k.claims[w]++
	return k.claims[w] - 1
}

// due reports whether the worker's record is to be written; a new name counts from now on.
// Until [workerCache.wrote] it is due for every claim: none goes on before the record is its own.
//
// Errors: [domain.ErrExhausted] for a new one where there are too many.
func (k *workerCache) due(w domain.Worker, now time.Time) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, known := k.written[w]
	if known && now.Sub(last) < workerEvery {
		return false, nil
	}
	if now.Sub(k.swept) > workerEvery {
		k.swept = now
		maps.DeleteFunc(k.written, func(_ domain.Worker, at time.Time) bool { return now.Sub(at) > workerKept })
		maps.DeleteFunc(k.claims, func(w domain.Worker, _ int) bool { return k.written[w].IsZero() })
	}
	own, actors := 0, 0
	if !known {
		for other := range k.written {
			if other.Context == w.Context {
				own++
				if other.Actor == w.Actor {
					actors++
				}
			}
		}
	}
	if actors >= maxActorWorkers {
		return false, domain.Exhaustedf("workers of actor %d have had %d names in context %d here within %v, which is the limit of an actor: a program has "+
			"one for all of its life",
			w.Actor, actors, w.Context, workerKept)
	}
	if own >= maxOwnWorkers {
		return false, domain.Exhaustedf("workers of context %d have had %d names here within %v, which is the limit of a context: a program has "+
			"one for all of its life",
			w.Context, own, workerKept)
	}
	if !known && len(k.written) >= maxWorkers {
		return false, domain.Exhaustedf("workers have had %d names here within %v, which is the limit: a program has one for all of its life",
			len(k.written), workerKept)
	}
	if k.written == nil {
		k.written = map[domain.Worker]time.Time{}
	}
	k.written[w] = last
	return true, nil
}

// wrote notes that the worker's record was written, as its own.
func (k *workerCache) wrote(w domain.Worker, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.written == nil {
		k.written = map[domain.Worker]time.Time{}
	}
	k.written[w] = at
}

// forget lets a worker go: if it comes again, its record is written anew.
func (k *workerCache) forget(w domain.Worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.written, w)
	delete(k.claims, w)
}

// register writes down a worker among the runners of its context, and its types among
// those that jobs there may have.
func (e *Engine) register(ctx context.Context, w domain.Worker, ask *domain.WorkerAsk) error {
	if err := e.makeKnown(ctx, typeSet{layout.SpaceOf(w.Context), layout.WorkerTypes}, ask.Types); err != nil {
		return err
	}
	now := time.Now()
	if due, err := e.workers.due(w, now); err != nil || !due {
		return err
	}
	r := domain.Runner{ID: w.RunnerID(), Worker: w.Name, Actor: w.Actor, Host: ask.Host, Version: ask.Version, Labels: ask.Labels,
		SeenMs: e.board.Now().UnixMilli()}
	r.Topic = r.ID.DefaultTopic()
	for _, t := range ask.Types {
		use := domain.SlotUse{Slots: ask.Slots, PerContext: ask.Slots, Taken: ask.Running}
		r.Serves = append(r.Serves, domain.Service{ScriptType: t, Served: true, Summary: strings.TrimSpace("worker " + ask.Version), SlotUse: use})
	}
	err := e.enlist(ctx, w, layout.EncodeRunner(r.Touched(e.board.Now())))
	if err == nil {
		e.workers.wrote(w, now)
	}
	return err
}

// enlistTries bounds how often a worker's record is written against what it was read to be.
const enlistTries = 20

// enlist writes the record of a worker's id where it is the worker's own, or nobody's. Whose it is
// is read again where a commit meets another: a worker has several claims at once, which all
// write it, and may leave meanwhile.
//
// Errors: [domain.ErrConflict] where it is another's; [domain.ErrUnavailable].
func (e *Engine) enlist(ctx context.Context, w domain.Worker, fields []board.Field) error {
	key, space := layout.Runner(w.RunnerID()), layout.SpaceOf(w.Context)
	b := ownRecord(w)
	for range enlistTries {
		b.Set(key, fields...).Expire(key, workerKept)
		if err := e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return err
		}
		rec, err := e.recordOf(ctx, w)
		if err != nil {
			return err
		}
		b = board.Batch{Space: space}
		switch {
		case rec == nil:
			b.Absent(key)
		case isRecordOf(rec, w):
			b.Equal(key, layout.RunnerWorker, w.Name).Equal(key, layout.RunnerActor, rec.Get(layout.RunnerActor))
		default:
			return domain.Conflictf("worker %s of actor %d: its name comes to runner %d, which another worker or runner of context %d is; give it another name",
				w.Name, w.Actor, w.RunnerID(), w.Context)
		}
	}
	return domain.Unavailablef("the record of worker %s changes too quickly; try again", w.Name)
}

// recordOf reads whose the record of a worker's id is; nil: nobody's.
func (e *Engine) recordOf(ctx context.Context, w domain.Worker) (board.Record, error) {
	recs, err := board.Readable(e.board.GetFields(ctx, layout.SpaceOf(w.Context), []string{layout.RunnerWorker, layout.RunnerActor}, layout.Runner(w.RunnerID())))
	if err != nil {
		return nil, err
	}
	return recs[0], nil
}

// isRecordOf reports whether the record of a worker's id is its own. A node of an older version
// writes no actor down; it is the name then that tells: another actor comes to this id by another one.
func isRecordOf(rec board.Record, w domain.Worker) bool {
	actor := rec.Get(layout.RunnerActor)
	return rec.Get(layout.RunnerWorker) == w.Name && (actor == "" || actor == strconv.FormatUint(uint64(w.Actor), 10))
}

// Leave takes a worker that stops off the list of runners. What it has still goes to others when
// its leases have run out; what was cancelled and it has not been told of ends now. One that is not listed has nothing to leave, whoever else has its id.
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func (e *Engine) Leave(ctx context.Context, w domain.Worker) error {
	if err := checkWorker(w); err != nil {
		return err
	}
	e.workers.forget(w)
	b := ownRecord(w)
	if err := e.board.Commit(ctx, *b.Delete(layout.Runner(w.RunnerID()))); errors.Is(err, domain.ErrConflict) {
		return nil
	} else if err != nil {
		return err
	}
	return e.endUntold(ctx, w)
}

// endUntold ends the jobs of a worker that has left which are to stop and of which it has not heard.
func (e *Engine) endUntold(ctx context.Context, w domain.Worker) error {
	space := layout.SpaceOf(w.Context)
	recs, err := e.board.Get(ctx, 0, layout.Told(w.Owner()))
	if err != nil {
		return err
	}
	for _, f := range recs[0] {
		item, ours := strings.CutPrefix(f.Name, toldField(space, ""))
		key, err := domain.ParseJobKey(item)
		if !ours || err != nil {
			continue // another context's, where it is another worker
		}
		j, err := e.loadAny(ctx, space, key)
		if errors.Is(err, domain.ErrNotFound) {
			continue
		} else if err != nil {
			return err
		}
		if j.LeaseOwner != w.Owner() || j.Cancel == "" || j.Final() {
			continue // it ended, or has begun again elsewhere
		}
		if _, err := e.endLeft(ctx, space, j, j.Cancel); unlessConflict(err) != nil {
			return err
		}
	}
	return nil
}
