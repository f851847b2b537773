package work

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Prune removes the jobs, flows and messages of a context that ended before an
// instant, oldest first, with all that belongs to them. It returns how many.
// Where the board has an archive, what that does not have yet stays, however
// old it is.
func (e *Engine) Prune(ctx context.Context, tenant domain.TenantID, before time.Time) (removed int, err error) {
	space := layout.SpaceOf(tenant)
	where, err := e.Archive(ctx)
	if err != nil {
		return 0, err
	}
	p := pruner{e: e, space: space, before: before, archived: where != ""}
	if removed, err = p.all(ctx); err != nil {
		return removed, err
	}
	return removed, e.trimFailed(ctx, space)
}

// all goes through the list of what ended as far as it is old.
func (p *pruner) all(ctx context.Context) (removed int, err error) {
	e, space := p.e, p.space
	for {
		length, err := e.board.Len(ctx, space, layout.Finished)
		if err != nil || length[0] == 0 {
			return removed, err
		}
		keys, err := e.board.List(ctx, space, layout.Finished, max(0, length[0]-listPage), listPage)
		if err != nil {
			return removed, err
		}
		n, err := p.page(ctx, keys)
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// OldestEnd is when the oldest of what has ended in a context, and is on the board
// still, did so: zero where that is not known. any is whether there is something.
func (e *Engine) OldestEnd(ctx context.Context, tenant domain.TenantID) (at time.Time, any bool, err error) {
	space := layout.SpaceOf(tenant)
	keys, err := e.board.List(ctx, space, layout.Finished, -1, 1)
	if err != nil || len(keys) == 0 {
		return at, false, err
	}
	recs, _, err := board.PerKey(e.board.GetFields(ctx, space, []string{layout.JobFinishedMs, layout.MessageEndedMs}, keys...))
	if err != nil {
		return at, true, err
	}
	if ms := number(cmp.Or(recs[0].Get(layout.JobFinishedMs), recs[0].Get(layout.MessageEndedMs))); ms > 0 {
		at = time.UnixMilli(int64(ms))
	}
	return at, true, nil
}

// EndedKind is a kind of work, beside jobs, that has an entry among those of ended
// jobs, and how it is removed when it is old.
type EndedKind struct {
	// Prefix begins the keys of its records.
	Prefix string
	// Status and EndedMs are the fields of its end, Stale, which may be "", the number of
	// entries of earlier ends: each goes by itself, and the newest with the record.
	Status, EndedMs, Stale string
	// Final reports whether a status is that of an end.
	Final func(status string) bool
	// Remove adds to b, which guards EndedMs, that the work goes with all that belongs to
	// it. A conflict says that it has begun again, and ends the round.
	Remove func(ctx context.Context, b *board.Batch, key string) error
}

// endedMessages are removed by any node, also one that has no supervisor. One in an
// inbox has no entry yet.
var endedMessages = EndedKind{Prefix: layout.MessagePrefix, Status: layout.MessageStatus, EndedMs: layout.MessageEndedMs,
	Final: func(status string) bool { return domain.MessageStatus(status).Final() },
	Remove: func(_ context.Context, b *board.Batch, key string) error {
		if id, err := messageItem(key); err == nil {
			b.Delete(key).Delete(layout.MessageLog(id)).Delete(layout.Notes(id))
		}
		return nil
	}}

// pruneFields are what Prune looks at of jobs that ended, and of the record
// [layout.Trimmed].
var pruneFields = []string{layout.JobStatus, layout.JobFinishedMs, layout.JobFollowers, layout.JobRetried, layout.TrimmedCount, layout.ArchivedCount,
	layout.AgainCount, layout.TrimmedEndMs, layout.JobFlowID, layout.JobShard, layout.JobPack, layout.JobRemembered, layout.JobSignals}

// fields are what is looked at of all that ended.
func (pr pruner) fields() []string {
	fields := slices.Clone(pruneFields)
	for _, k := range pr.e.endedKinds {
		fields = append(fields, k.Status, k.EndedMs)
		if k.Stale != "" {
			fields = append(fields, k.Stale)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// pruner removes what is old of one context.
type pruner struct {
	e        *Engine
	space    board.Space
	before   time.Time
	archived bool // only what the archive has may go
}

// page goes through the right end of the list of what ended, oldest first, and
// stops at the first that is too young. Entries are trimmed in the commit that
// removes what they name, guarded by the count of all trims so far: two nodes
// that prune at once cannot trim what the other has not looked at.
func (pr pruner) page(ctx context.Context, keys []string) (removed int, err error) {
	// An entry whose key holds something else goes as one that is gone: what lies
	// there is not the engine's.
	recs, bad, err := board.PerKey(pr.e.board.GetFields(ctx, pr.space, pr.fields(), append(slices.Clone(keys), layout.Trimmed)...))
	if err := cmp.Or(err, bad[len(keys)]); err != nil {
		return 0, err
	}
	p := pruning{now: pr.e.board.Now(), before: pr.before, ended: pr.e.endedKinds, stale: map[string]int64{}}
	if p.telling, err = pr.e.telling(ctx, pr.space, keys, recs); err != nil {
		return 0, err
	}
	p.b.Space = pr.space
	p.b.Equal(layout.Trimmed, layout.TrimmedCount, recs[len(keys)].Get(layout.TrimmedCount))
	if pr.archived { // what the archive has may have become what it has lost; that it gets more does not matter
		p.b.Equal(layout.Trimmed, layout.AgainCount, recs[len(keys)].Get(layout.AgainCount))
	}
	if p.alive, err = pr.flows(ctx, recs[:len(keys)]); err != nil {
		return 0, err
	}
	most := len(keys)
	if pr.archived {
		most = min(most, countsOf(recs[len(keys)]).offset())
	}
	for i, key := range slices.Backward(keys) {
		if removed == most || !p.entry(key, recs[i]) {
			break
		}
		if p.remove != nil {
			if err := p.remove(ctx, &p.b, key); errors.Is(err, domain.ErrConflict) {
				return 0, nil // it was started again: the next round
			} else if err != nil {
				return 0, err
			}
			p.remove = nil
		}
		removed++
		if len(p.b.Ops)+len(p.b.Guards) > board.MaxOps-16 {
			break
		}
	}
	if removed == 0 {
		return 0, nil
	}
	p.b.TrimRight(layout.Finished, removed)
	p.b.Add(layout.Trimmed, layout.TrimmedCount, int64(removed))
	if p.youngest > int64(number(recs[len(keys)].Get(layout.TrimmedEndMs))) {
		p.b.Set(layout.Trimmed, board.Field{Name: layout.TrimmedEndMs, Value: strconv.FormatInt(p.youngest, 10)})
	}
	if err := pr.e.board.Commit(ctx, p.b); err != nil {
		if errors.Is(err, domain.ErrConflict) {
			err = nil // a job was started again, or another node prunes: the next round
		}
		return 0, err
	}
	return removed, nil
}

// telling finds the ended jobs whose followers have not all been told: they
// are still needed, however old they are.
func (e *Engine) telling(ctx context.Context, space board.Space, keys []string, recs []board.Record) (map[string]bool, error) {
	var lists, of []string
	for i, key := range keys {
		id, err := jobItem(key)
		if err != nil || recs[i].Get(layout.JobFollowers) == "" {
			continue
		}
		lists, of = append(lists, layout.Followers(id)), append(of, key)
	}
	if len(lists) == 0 {
		return nil, nil
	}
	lengths, err := e.lengths(ctx, space, lists)
	if err != nil {
		return nil, err
	}
	telling := map[string]bool{}
	for i, n := range lengths {
		telling[of[i]] = n > 0
	}
	return telling, nil
}

// flows finds which of the flows that the jobs belong to are still there: they
// need the results of their jobs, and remove them with themselves.
func (pr pruner) flows(ctx context.Context, recs []board.Record) (map[string]bool, error) {
	var keys []string
	for _, r := range recs {
		if id := r.Get(layout.JobFlowID); id != "" && !slices.Contains(keys, layout.FlowPrefix+id) {
			keys = append(keys, layout.FlowPrefix+id)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	found, _, err := board.PerKey(pr.e.board.GetFields(ctx, pr.space, []string{layout.FlowStatus}, keys...))
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for i, r := range found {
		alive[keys[i]] = r != nil
	}
	return alive, nil
}

// pruning is the batch that removes a page.
type pruning struct {
	alive   map[string]bool // flows that are there
	ended   []EndedKind
	remove  func(ctx context.Context, b *board.Batch, key string) error // for the entry, where it is no job's
	b       board.Batch
	now     time.Time
	before  time.Time
	telling map[string]bool
	stale   map[string]int64 // by key: entries of earlier ends seen in this page
	// youngest is when the last of what is removed ended, Unix ms.
	youngest int64
}

// young says whether what ended at an instant has to stay. One that no clock can
// have shown yet is not the engine's: it would hold up all that ended since.
func (p *pruning) young(endedMs int64) bool {
	return endedMs >= p.before.UnixMilli() && endedMs <= p.now.Add(wrongClock).UnixMilli()
}

// wrongClock is how far the clocks of a board's nodes may well be apart.
const wrongClock = 24 * time.Hour

// entry adds the removal of one entry with what it names. It returns false when
// that has to stay: it ended too recently, or is needed.
func (p *pruning) entry(key string, rec board.Record) bool {
	for i := range p.ended {
		if strings.HasPrefix(key, p.ended[i].Prefix) {
			return p.entryOf(&p.ended[i], key, rec)
		}
	}
	id, err := jobItem(key)
	if rec == nil || err != nil {
		return true
	}
	if p.alive[layout.FlowPrefix+rec.Get(layout.JobFlowID)] && rec.Get(layout.JobShard) == "" && rec.Get(layout.JobPack) == "" {
		return true // its flow removes it
	}
	if p.staleEntry(layout.JobRetried, key, rec) {
		return true
	}
	j, _ := layout.DecodeJob(id, rec)
	switch {
	case !j.Final() || j.FinishedMs == 0:
		return true // its next end puts it on the list again
	case p.young(j.FinishedMs) || p.telling[key]:
		return false
	}
	p.youngest = max(p.youngest, j.FinishedMs)
	p.b.Equal(key, layout.JobFinishedMs, rec.Get(layout.JobFinishedMs))
	p.b.Delete(key).Delete(layout.Logs(id)).Delete(layout.Checkpoint(id))
	if j.Remembered > 0 || j.Signals > 0 {
		p.b.Delete(layout.Steps(id)).Delete(layout.Signals(id))
	}
	return true
}

// entryOf is entry for what is no job.
func (p *pruning) entryOf(k *EndedKind, key string, rec board.Record) bool {
	ended := int64(number(rec.Get(k.EndedMs)))
	switch {
	case rec == nil:
		return true
	case k.Stale != "" && p.staleEntry(k.Stale, key, rec):
		return true
	case !k.Final(rec.Get(k.Status)) || ended == 0:
		return true // its next end puts it on the list again
	case p.young(ended):
		return false
	}
	p.youngest = max(p.youngest, ended)
	p.b.Equal(key, k.EndedMs, rec.Get(k.EndedMs))
	p.remove = k.Remove
	return true
}

// staleEntry takes away an entry of an earlier end of what was started again by hand:
// its newest end has one of its own.
func (p *pruning) staleEntry(field, key string, rec board.Record) bool {
	if n, _ := board.Number(rec.Get(field)); p.stale[key] >= n {
		return false
	}
	p.stale[key]++
	p.b.Equal(key, field, rec.Get(field))
	p.b.Add(key, field, -1)
	return true
}
