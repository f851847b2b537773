package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// RecoverLease brings back a job whose lease has run out: its runner is dead,
// paused or cut off. It goes before what has not begun, spends no retry, and
// ends as runner_lost once it has lost too many. It reports whether the lease
// is one of ours.
func (e *Engine) RecoverLease(ctx context.Context, l board.Lease) (ours bool, err error) {
	if _, yes := layout.ParseCheck(l.Item); yes {
		return true, unlessConflict(e.recoverCheck(ctx, l))
	}
	key, err := jobItem(l.Item)
	if err != nil {
		return false, nil
	}
	err = e.recoverJob(ctx, l, key)
	if errors.Is(err, domain.ErrConflict) {
		err = nil // renewed, finished, or another node was first
	}
	return true, err
}

func (e *Engine) recoverJob(ctx context.Context, l board.Lease, key domain.JobKey) error {
	j, rec, err := e.load(ctx, l.Space, key)
	if errors.Is(err, domain.ErrNotFound) {
		return e.dropLease(ctx, l)
	} else if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	// A key that was queued but not written has no type of its own.
	named, _ := queue.TypeOf(rec.Get(board.FieldQueue))
	j.ScriptType = cmp.Or(j.ScriptType, named)
	now := e.board.Now()
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token)
	b.Equal(l.Item, layout.JobStatus, string(j.Status))
	b.Equal(l.Item, layout.JobCancel, j.Cancel)
	b.Release(l.Item)
	switch {
	case j.Final():
		return e.board.Commit(ctx, b)
	case j.Cancel != "":
		e.end(ctx, &b, j, cancelled(j.Cancel), now)
	case e.onlyWaits(j):
		e.requeue(&b, j, now)
	case j.Losses+1 >= e.cfg.MaxLosses:
		b.Set(l.Item, lossesField(j.Losses+1))
		e.end(ctx, &b, j, ending{status: domain.JobError, reason: domain.ReasonRunnerLost,
			text: fmt.Sprintf("its runner was lost %d times, last %s; does the job kill its node?", j.Losses+1, l.Owner)}, now)
	default:
		b.Set(l.Item, lossesField(j.Losses+1))
		if j.CreatedAt != 0 { // else it is queued, and not written yet
			noteEnd(&b, key, l.Token, "its runner was lost: the lease of "+l.Owner+" ran out", "the next begins when a node takes it", now)
		}
		e.requeue(&b, j, now)
	}
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	e.cfg.Observer.LeaseLost(j.ScriptType)
	e.log.Warn("lease ran out", "job", key.String(), "context", uint32(l.Space), "owner", l.Owner, "losses", j.Losses+1)
	return nil
}

// onlyWaits reports whether a job does no more than wait for another job or a flow: it
// calls an effect of such a kind, which finds again what it waits for. How many nodes
// come and go meanwhile is no fault of it.
func (e *Engine) onlyWaits(j *domain.Job) bool {
	if j.ScriptType != domain.ScriptEffect {
		return false
	}
	var call domain.EffectScript
	if intake.Decode([]byte(j.Script), &call, intake.Limits{Bytes: domain.MaxScriptBytes}) != nil {
		return false
	}
	kind := domain.EffectKind(call.Kind)
	if kind == "" && e.cfg.EffectKind != nil {
		kind = e.cfg.EffectKind(call.Target)
	}
	return kind.OnlyWaits()
}

// dropLease ends the lease on a job that was deleted.
func (e *Engine) dropLease(ctx context.Context, l board.Lease) error {
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item)
	return e.board.Commit(ctx, b)
}

// lossesField is set, not added to: whoever writes it holds the lease, or ends
// it, and a number that a foreign program has spoilt must not refuse a batch.
func lossesField(n int) board.Field {
	return board.Field{Name: layout.JobLosses, Value: strconv.Itoa(n)}
}

func cancelled(by string) ending {
	return ending{status: domain.JobError, reason: domain.ReasonCancelled, text: domain.CancelledText(by)}
}

// Cancel ends a job that waits or is queued at once, and one whose worker has left; one that
// runs is told to stop, which its holder hears at once where it listens, else with its next
// renewal. Cancelling twice is no error.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] when the job has ended
// otherwise.
func (e *Engine) Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey, by domain.ActorID) (*domain.Job, error) {
	space := layout.SpaceOf(tenant)
	who := strconv.FormatUint(uint64(by), 10)
	for range unheldTries {
		err := e.endUnheld(ctx, space, key, cancelled(who))
		if errors.Is(err, errHeld) {
			err = e.askToStop(ctx, space, key, who)
		}
		switch {
		case errors.Is(err, errEnded):
			return e.cancelledBefore(ctx, space, key)
		case errors.Is(err, domain.ErrConflict):
			continue // it was taken or let go between
		case err != nil:
			return nil, err
		}
		return e.loadAny(ctx, space, key)
	}
	return nil, domain.Unavailablef("job %q changes too quickly; try again", key)
}

// endLeft ends a job that is cancelled, where its worker has left: there is nobody who would have to stop,
// and the rest of the lease need not be waited for.
func (e *Engine) endLeft(ctx context.Context, space board.Space, j *domain.Job, who string) (ended bool, err error) {
	key := j.Key().String()
	l, ok, err := e.board.LeaseOf(ctx, space, key)
	if err != nil || !ok {
		return false, err
	}
	left, still, err := e.hasLeft(ctx, space, l)
	if err != nil || !left {
		return false, err
	}
	b := board.Batch{Space: space}
	still(&b)
	b.Equal(key, layout.JobStatus, string(j.Status))
	asRead(&b, j, layout.JobAttempt)
	e.end(ctx, &b, j, cancelled(who), e.board.Now())
	if err := e.board.Commit(ctx, *b.Release(key)); err != nil {
		return false, err
	}
	return true, nil
}

// cancelledBefore returns a job that has ended, if that was by a cancel: the
// answer to the first one may have been lost.
func (e *Engine) cancelledBefore(ctx context.Context, space board.Space, key domain.JobKey) (*domain.Job, error) {
	j, err := e.loadAny(ctx, space, key)
	if err != nil || j.Reason == domain.ReasonCancelled {
		return j, err
	}
	return nil, domain.Conflictf("job %q has ended already: it is %s", key, j.Status)
}

// askToStop marks a running job as cancelled; its holder learns of it.
func (e *Engine) askToStop(ctx context.Context, space board.Space, key domain.JobKey, who string) error {
	j, err := e.loadAny(ctx, space, key)
	if err != nil {
		return err
	}
	if j.LeaseOwner == "" || j.Final() {
		return errHeld // it was let go between
	}
	if ended, err := e.endLeft(ctx, space, j, who); ended || err != nil {
		return err
	}
	b := board.Batch{Space: space}
	b.Equal(key.String(), layout.JobLeaseOwner, j.LeaseOwner)
	asRead(&b, j, layout.JobAttempt)
	b.Equal(key.String(), layout.JobStatus, string(domain.JobStarted))
	b.Set(key.String(), board.Field{Name: layout.JobCancel, Value: who})
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	if !e.stopHere(space, key, j.Attempt) {
		e.tellHolder(ctx, j.LeaseOwner, space, key, j.Attempt)
	}
	return nil
}
