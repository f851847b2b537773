package clockwork

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/work"
)

const (
	// archiveRest is how many times as long as it worked the archiver rests:
	// with much to copy it takes half of one processor, so that it does not
	// slow down the work it is about.
	archiveRest     = 1
	archiveIdleRest = 20
	// archiveBehind is how many waiting ends are so many that it does not rest: nothing
	// expires before it is archived, so that the board would only grow.
	archiveBehind = 20_000
	// archiveEvery is the least pause between two looks at a board where
	// nothing waits, archiveSeldom the longest.
	archiveEvery  = time.Second
	archiveSeldom = 10 * time.Second
	// archivePages is how many batches one context gets before the next has its turn.
	archivePages = 8
	// archiveWithin bounds one call of the archive: one that is silent is down.
	archiveWithin = time.Minute
	// archiveDownMost bounds the pause between two tries while it is down: each
	// looks at all contexts in which something waits. Whether it can be reached is asked each archiveEvery.
	archiveDownMost = 30 * time.Second
	archivePingWait = 5 * time.Second
	// archiveTell is how often all nodes of the board are told what waits.
	archiveTell = 5 * time.Second
	// forgetEvery is how often the archive is cleared of what is old, forgetBatch
	// how much of it at once.
	forgetEvery = time.Hour
	forgetBatch = 1000
)

// ArchiveObserver takes what the archiver does, for metrics.
type ArchiveObserver interface {
	// ArchiveBacklog says how many ends wait for the archive and how old the
	// oldest is. n < 0: this node no longer knows, another does it.
	ArchiveBacklog(n int, age time.Duration)
	// Archived counts ends that the archive has.
	Archived(n int)
	// ArchiveFailed counts calls of the archive that failed, ArchiveRefused
	// records that it will never take.
	ArchiveFailed()
	ArchiveRefused()
}

// FlowRecords is what the archiver needs of the flow engine.
type FlowRecords interface {
	// Record is what the archive gets of a flow that has ended; ok is false
	// where it is gone or goes on.
	Record(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (r archive.Record, ok bool, err error)
}

// ArchiverConfig says where to and for how long.
type ArchiverConfig struct {
	// Archive takes what ended. Required.
	Archive archive.Archive
	// Flows gives the records of flows. Default: they are left out.
	Flows FlowRecords
	// Choice is what of a context goes there; the rest leaves the board without. A flow
	// that has a name goes there always. Default: all.
	Choice func(ctx context.Context, tenant domain.TenantID) (domain.Archives, error)
	// Keep is how long records stay in it. Required.
	Keep time.Duration
	// Bytes bounds how much it holds: then the oldest go before their time, but none that
	// ended within the last hour. Default: no bound.
	Bytes int64
	// Logger takes what a person should know. Required.
	Logger *slog.Logger
	// Observer counts. Required.
	Observer ArchiveObserver
}

// Archives is the service that copies ended work into the archive. A copy is
// durable there before the board is told that it may let go: a crash between
// the two copies again, and the archive takes each end once. While the archive
// is down everything stays on the board, and is caught up on after.
func Archives(b board.Board, e *work.Engine, cfg ArchiverConfig) Maintenance {
	a := &archiver{visits: newVisits(b), engine: e, ArchiverConfig: cfg}
	if a.Choice == nil {
		a.Choice = func(context.Context, domain.TenantID) (domain.Archives, error) { return domain.ArchivesAll, nil }
	}
	return Maintenance{Name: "archiver", Round: a.round}
}

type archiver struct {
	visits *visits
	engine *work.Engine
	ArchiverConfig

	// Of the round that goes on.
	down     time.Time // since when the archive fails; zero while it does not
	tries    int       // since then
	forgotAt time.Time // when what is old was last removed

	told   time.Time // when the board was last told what waits, or need not have been
	quiet  bool      // it was told that nothing does
	copied int       // since then
	lately time.Time // when something was copied last
}

// round copies until ctx ends or the board cannot be asked.
func (a *archiver) round(ctx context.Context) error {
	defer a.Observer.ArchiveBacklog(-1, 0)
	a.told, a.quiet, a.copied = time.Now(), false, 0 // what the one before has told may be old
	a.lately = a.told
	for ctx.Err() == nil {
		began := time.Now()
		p := pass{archiver: a}
		if err := a.visits.round(ctx, archiveEvery, p.tenant); err != nil {
			return err
		}
		a.tell(p, time.Now())
		a.tellBoard(ctx, p, time.Now())
		if !p.more && p.failed == nil {
			a.forget(ctx, began)
		}
		if rest := a.rest(p, time.Since(began)); p.failed != nil {
			a.await(ctx, rest)
		} else {
			pause.For(ctx, rest)
		}
	}
	return nil
}

// await returns once the archive can be reached again, after most at the latest.
// Of one that can be reached and fails nothing else tells when it is back.
func (a *archiver) await(ctx context.Context, most time.Duration) {
	away := false
	for end := time.Now().Add(most); ctx.Err() == nil; {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		call, cancel := context.WithTimeout(ctx, archivePingWait)
		err := a.Archive.Ping(call)
		cancel()
		if err == nil && away {
			return
		}
		away = err != nil
		pause.For(ctx, min(archiveEvery, left))
	}
}

// rest is the pause after a pass that took so long.
func (a *archiver) rest(p pass, took time.Duration) time.Duration {
	switch {
	case p.failed != nil:
		return min(archiveEvery<<min(a.tries, 10), archiveDownMost)
	case p.waiting >= archiveBehind:
		return 0
	case p.more:
		return took * archiveRest
	}
	return min(max(took*archiveIdleRest, archiveEvery), archiveSeldom)
}

// tell writes once that the archive is down, and once that it is back.
func (a *archiver) tell(p pass, now time.Time) {
	age := time.Duration(0)
	if p.oldestMs > 0 {
		age = max(0, a.visits.board.Now().Sub(time.UnixMilli(p.oldestMs)))
	}
	a.Observer.ArchiveBacklog(p.waiting, age)
	switch {
	case p.failed != nil:
		if a.down.IsZero() {
			a.down, a.tries = now, 0
			a.Logger.Error("the archive cannot be written; what has ended stays on the board until it can", "waiting", p.waiting, "err", p.failed)
		}
		a.tries++
		a.Observer.ArchiveFailed()
	case !a.down.IsZero() && p.copied > 0:
		a.Logger.Info("the archive is back", "after", now.Sub(a.down).Round(time.Second), "waiting", p.waiting)
		a.down = time.Time{}
	}
}

// tellBoard tells all nodes what waits, now and then, and once that nothing does: by that they know up to which
// end the archive has them all, see [Pairing].
func (a *archiver) tellBoard(ctx context.Context, p pass, now time.Time) {
	a.copied += p.copied
	if p.copied > 0 {
		a.lately = now
	}
	since := now.Sub(a.told)
	if since < archiveTell {
		return
	}
	// What was copied is told until it is beyond doubt that nothing that ended before it is still to come.
	if p.waiting == 0 && a.quiet && a.told.Sub(a.lately) > endsWithin {
		a.told, a.copied = now, 0
		return
	}
	l := domain.ArchiveBacklog{Waiting: p.waiting, OldestMs: p.oldestMs, PerSecond: int(float64(a.copied) / since.Seconds()),
		ToldMs: a.visits.board.Now().UnixMilli()}
	if err := a.engine.TellBacklog(ctx, l); err != nil {
		return // a board that takes nothing is told of elsewhere
	}
	a.told, a.quiet, a.copied = now, p.waiting == 0, 0
}

// forget removes what is older than records are kept.
func (a *archiver) forget(ctx context.Context, now time.Time) {
	if now.Sub(a.forgotAt) < forgetEvery {
		return
	}
	for ctx.Err() == nil {
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, archiveWithin)
		n, err := a.Archive.Delete(call, a.visits.board.Now().Add(-a.Keep), forgetBatch)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				a.Observer.ArchiveFailed()
				a.Logger.Warn("old records not removed from the archive; tried again in an hour", "err", err)
			}
			break
		}
		if n < forgetBatch {
			break
		}
		pause.For(ctx, time.Since(began)*archiveRest)
	}
	if err := a.cut(ctx); err != nil && ctx.Err() == nil {
		a.Observer.ArchiveFailed()
		a.Logger.Warn("an archive that is too large was not cut; tried again in an hour", "err", err)
	}
	a.forgotAt = now
}

// leastArchived is for how long records stay, however much there is.
const leastArchived = time.Hour

// cut removes the oldest where the archive holds too much.
func (a *archiver) cut(ctx context.Context) error {
	if a.Bytes <= 0 {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, archiveWithin)
	size, err := a.Archive.Size(call)
	cancel()
	if err != nil || size.Bytes <= a.Bytes {
		return err
	}
	left := int(math.Ceil(float64(size.Records) * float64(size.Bytes-a.Bytes) / float64(size.Bytes)))
	a.Logger.Info("the archive is larger than it may be: its oldest records go", "bytes", size.Bytes, "most", a.Bytes, "records", left)
	for left > 0 && ctx.Err() == nil {
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, archiveWithin)
		n, err := a.Archive.Cut(call, a.visits.board.Now().Add(-leastArchived), min(left, forgetBatch))
		cancel()
		if err != nil || n == 0 {
			return err
		}
		left -= n
		pause.For(ctx, time.Since(began)*archiveRest)
	}
	return nil
}

// pass is one look at the contexts where something waits or may have ended.
type pass struct {
	*archiver
	copied   int
	waiting  int   // what is left on the board
	oldestMs int64 // when the oldest of that ended; 0 when not known
	more     bool  // there was more than one context's share
	failed   error // of the archive: nothing more is copied in this pass
}

// tenant copies one context's share. What the archive fails on is no error: it
// stays where it is.
func (p *pass) tenant(ctx context.Context, t domain.TenantID) (found bool, err error) {
	for range archivePages {
		left, err := p.engine.Backlog(ctx, t)
		if err != nil || left.Waiting == 0 {
			return found, err
		}
		found = true
		if p.failed == nil {
			if err := p.copy(ctx, left); err != nil {
				return true, err
			}
		}
		if p.failed != nil {
			p.leave(left)
			return true, nil
		}
	}
	left, err := p.engine.Backlog(ctx, t)
	if err == nil && left.Waiting > 0 {
		p.more = true
		p.leave(left)
	}
	return true, err
}

// leave counts what stays on the board.
func (p *pass) leave(l work.Backlog) {
	p.waiting += l.Waiting
	if l.OldestMs > 0 && (p.oldestMs == 0 || l.OldestMs < p.oldestMs) {
		p.oldestMs = l.OldestMs
	}
}

// copy copies a batch and marks it on the board.
func (p *pass) copy(ctx context.Context, left work.Backlog) error {
	ended, covered, err := p.engine.Ended(ctx, left, archive.MaxBatch)
	if err != nil {
		return err
	}
	choice, err := p.Choice(ctx, left.Tenant)
	if errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil {
		return err // of a context whose record is gone or cannot be read all is kept
	}
	records := make([]archive.Record, 0, len(ended))
	for _, e := range ended {
		r, ok, err := p.record(ctx, left.Tenant, e, choice)
		if errors.Is(err, domain.ErrInvalid) {
			p.refused(e.Key(), left.Tenant, err)
			continue
		} else if err != nil {
			return err
		}
		if ok {
			records = append(records, r)
		}
	}
	if len(records) > 0 {
		if p.failed = p.put(ctx, records); p.failed != nil {
			return ctx.Err()
		}
	}
	p.copied += covered
	// Where the list has moved meanwhile, by pruning, they are copied once more:
	// counted is what is marked.
	err = p.engine.MarkArchived(ctx, left, covered)
	if err == nil {
		p.Observer.Archived(len(records))
	}
	return unlessChanged(err)
}

// record is what the archive gets of what ended; ok is false where that is nothing.
func (p *pass) record(ctx context.Context, t domain.TenantID, e work.Ended, choice domain.Archives) (r archive.Record, ok bool, err error) {
	switch {
	case e.Job != nil && !choice.Take(e.Job.Status == domain.JobFinished), e.Message != nil && !choice.Take(e.Message.Status == domain.MessageProcessed):
		return r, false, nil
	case e.Job != nil:
		r, err = archive.OfJob(t, e.Job, e.Logs)
		return r, true, err
	case e.Message != nil:
		r, err = archive.OfMessage(t, e.Message)
		return r, true, err
	case p.Flows == nil:
		return r, false, nil
	}
	r, ok, err = p.Flows.Record(ctx, t, e.Flow)
	if _, named := r.Name(); !named && !choice.Take(r.Status == string(domain.FlowFinished)) {
		ok = false
	}
	return r, ok, err
}

// put hands records to the archive, each by itself where it refuses one: that
// one is left out, so that it does not stop all others for ever.
func (p *pass) put(ctx context.Context, records []archive.Record) error {
	call, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	err := p.Archive.Put(call, records)
	if !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	for i := range records {
		err := p.Archive.Put(call, records[i:i+1])
		if errors.Is(err, domain.ErrInvalid) {
			p.refused(records[i].Key, records[i].Context, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) refused(key string, t domain.TenantID, err error) {
	p.Observer.ArchiveRefused()
	p.Logger.Error("the archive refused a record; it will be gone when it expires on the board", "item", key, "context", uint32(t), "err", err)
}
