package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
)

const (
	// forkLasts is how long a history lies on the board that no job has yet: until the
	// job is submitted, or for who died in between.
	forkLasts = time.Hour
	// forkPage is how many events are written at once, and forkBytes about how large they are together.
	forkPage  = 256
	forkBytes = 1 << 20
	// maxArchivedHistory bounds what the archive has of a history, in bytes. The values of
	// events behind that are left out.
	maxArchivedHistory = 24 << 20
)

// History reads up to n events of a job's history from number from on, and how many there are.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) History(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, n int) (events []domain.HistoryEvent, total int, err error) {
	space := layout.SpaceOf(tenant)
	if _, _, err := e.loadLine(ctx, space, key); err != nil && !errors.Is(err, domain.ErrInvalid) {
		return nil, 0, err
	}
	length, err := e.board.Len(ctx, space, layout.Steps(key))
	if err != nil {
		return nil, 0, err
	}
	const atOnce = 16
	for bytes := 0; len(events) < n && bytes < endedBytes; {
		items, err := e.board.List(ctx, space, layout.Steps(key), from+len(events), min(atOnce, n-len(events)))
		if err != nil {
			return nil, 0, err
		}
		for _, item := range items {
			event, err := durable.DecodeEvent(item)
			if err != nil {
				return nil, 0, err
			}
			events, bytes = append(events, event), bytes+len(item)
		}
		if len(items) < atOnce {
			break
		}
	}
	return events, length[0], nil
}

// Fork submits the script of a job again, in a caller's name, as a new job that remembers
// what the old one did before a step: "<name>" or "<name>#<n>". from is the old job with
// its whole history, where the archive alone has it; else the board is asked. Under a ticket, as those of
// [Engine.SubmitUnder], it is submitted once within keep; "" is none.
//
// Errors: [domain.ErrNotFound] for a job or step that is not there; those of Submit.
func (e *Engine) Fork(ctx context.Context, tenant domain.TenantID, key domain.JobKey, step string,
	caller domain.ActorID, from *domain.Job, ticket string, keep time.Duration) (*domain.Job, error) {
	space := layout.SpaceOf(tenant)
	if ticket != "" { // before a history is written that nobody reads
		if recs, err := board.Readable(e.board.Get(ctx, space, layout.Ticket(ticket))); err != nil {
			return nil, err
		} else if made, err := domain.ParseJobKey(recs[0].Get(layout.TicketJob)); err == nil {
			return e.loadAny(ctx, space, made)
		}
	}
	items, err := historyOf(from)
	if from == nil {
		if from, err = e.loadAny(ctx, space, key); err == nil {
			items, err = e.history(ctx, space, key)
		}
	}
	if err != nil {
		return nil, err
	}
	if items, err = durable.Until(items, step); err != nil {
		return nil, err
	}
	j := &domain.Job{CallerID: caller, ContextID: tenant, Script: from.Script, ScriptType: from.ScriptType, Timeout: from.Timeout, Retries: from.Retries,
		Retry: from.Retry, EnvVars: from.EnvVars, Priority: from.Priority, ForRunner: from.ForRunner, TraceID: from.TraceID, Affinity: from.Affinity,
		Params: from.Params, Remembered: len(items)}
	if len(items) > 0 { // else Submit finds it an id
		if err := e.placeHistory(ctx, space, j, items); err != nil {
			return nil, err
		}
	}
	receipts, err := e.SubmitUnder(ctx, tenant, []*domain.Job{j}, []string{ticket}, keep)
	if err == nil {
		err = receipts[0].Err
	}
	if err != nil {
		return nil, err
	}
	return e.loadAny(ctx, space, receipts[0].Key)
}

// historyOf are the items of a job's history as the archive has it.
func historyOf(j *domain.Job) (items []string, err error) {
	if j == nil {
		return nil, nil
	}
	for _, event := range j.History {
		if event.Cut {
			return nil, domain.Conflictf("the history of job %q was too large for the archive: its event %d of %d has no answer any more", j.Key(),
				len(items)+1, len(j.History))
		}
		item, err := durable.Encode(event)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// placeHistory gives a new job its id, and writes its history. Of ids that somebody has
// chosen by hand each try goes twice as far.
func (e *Engine) placeHistory(ctx context.Context, space board.Space, j *domain.Job, items []string) error {
	for step := int64(1); ; step = min(2*step, 1<<16) {
		first, err := e.board.Next(ctx, space, layout.Seq("job", j.CallerID), int(step))
		if err != nil {
			return err
		}
		if first+step > 1<<32 {
			return domain.Limitf("caller %d has used up its job ids", j.CallerID)
		}
		j.ID = domain.JobID(first + step - 1)
		if err := e.writeHistory(ctx, space, j.Key(), items); !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
}

// writeHistory writes the history of a job that is to be submitted. Where it never is,
// the history goes by itself.
func (e *Engine) writeHistory(ctx context.Context, space board.Space, key domain.JobKey, items []string) error {
	list := layout.Steps(key)
	for at := 0; at < len(items); {
		n, bytes := 0, 0
		for at+n < len(items) && n < forkPage && bytes < forkBytes {
			bytes += len(items[at+n])
			n++
		}
		b := board.Batch{Space: space}
		b.Absent(key.String()).Length(list, at).PushRight(list, items[at:at+n]...).Expire(list, forkLasts)
		if err := e.board.Commit(ctx, b); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// takeHistory adds to the commit that creates a forked job that its history stays.
func takeHistory(b *board.Batch, j *domain.Job) {
	if j.Remembered > 0 {
		b.Length(layout.Steps(j.Key()), j.Remembered).Expire(layout.Steps(j.Key()), 0)
	}
}

// addHistories reads the histories of ended jobs, as the archive takes them.
func (e *Engine) addHistories(ctx context.Context, space board.Space, jobs []Ended) (bytes int, err error) {
	for i := range jobs {
		j := jobs[i].Job
		if j.Remembered == 0 {
			continue
		}
		items, err := e.history(ctx, space, j.Key())
		if err != nil {
			return 0, err
		}
		own := 0
		for _, item := range items {
			event, err := durable.DecodeEvent(item)
			if err != nil {
				event = domain.HistoryEvent{Kind: "unreadable"}
			}
			if own += len(item); own > maxArchivedHistory {
				event.Value, event.Failure, event.Cut = nil, nil, true
			}
			j.History = append(j.History, event)
		}
		j.History = slices.Clip(j.History)
		bytes += min(own, maxArchivedHistory)
	}
	return bytes, nil
}
