package work

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// pruneFields are what Prune looks at of what ended, and of the record [layout.Trimmed].
var pruneFields = []string{layout.JobStatus, layout.JobFinishedMs, layout.JobFollowers, layout.JobRetried, layout.TrimmedCount, layout.ArchivedCount,
	layout.JobFlowID, layout.JobShard, layout.JobPack, layout.FlowStale, layout.MessageEndedMs}

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
	recs, bad, err := board.PerKey(pr.e.board.GetFields(ctx, pr.space, pruneFields, append(slices.Clone(keys), layout.Trimmed)...))
	if err := cmp.Or(err, bad[len(keys)]); err != nil {
		return 0, err
	}
	p := pruning{before: pr.before, stale: map[string]int64{}}
	if p.telling, err = pr.e.telling(ctx, pr.space, keys, recs); err != nil {
		return 0, err
	}
	p.b.Space = pr.space
	p.b.Equal(layout.Trimmed, layout.TrimmedCount, recs[len(keys)].Get(layout.TrimmedCount))
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
		if p.flow != 0 {
			if err := pr.e.pruneFlow(ctx, &p.b, p.flow); errors.Is(err, domain.ErrConflict) {
				return 0, nil // it was started again: the next round
			} else if err != nil {
				return 0, err
			}
			p.flow = 0
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
	flow    domain.FlowID   // to be removed with the entry
	b       board.Batch
	before  time.Time
	telling map[string]bool
	stale   map[string]int64 // by key: entries of earlier ends seen in this page
}

// young says whether what ended at an instant has to stay. One that no clock can
// have shown yet is not the engine's: it would hold up all that ended since.
func (p *pruning) young(endedMs int64) bool {
	return endedMs >= p.before.UnixMilli() && endedMs <= time.Now().Add(wrongClock).UnixMilli()
}

// wrongClock is how far the clocks of a board's nodes may well be apart.
const wrongClock = 24 * time.Hour

// entry adds the removal of one entry with what it names. It returns false when
// that has to stay: it ended too recently, or is needed.
func (p *pruning) entry(key string, rec board.Record) bool {
	if flow, err := domain.ParseFlowKey(key); err == nil && strings.HasPrefix(key, layout.FlowPrefix) {
		return p.flowEntry(flow, key, rec)
	}
	if message, err := messageItem(key); err == nil {
		return p.messageEntry(message, rec)
	}
	id, err := jobItem(key)
	if rec == nil || err != nil {
		return true
	}
	if p.alive[layout.FlowPrefix+rec.Get(layout.JobFlowID)] && rec.Get(layout.JobShard) == "" && rec.Get(layout.JobPack) == "" {
		return true // its flow removes it
	}
	if n, _ := board.Number(rec.Get(layout.JobRetried)); p.stale[key] < n {
		// It was started again by hand: its newest end has an entry of its own.
		p.stale[key]++
		p.b.Equal(key, layout.JobRetried, rec.Get(layout.JobRetried))
		p.b.Add(key, layout.JobRetried, -1)
		return true
	}
	j, _ := layout.DecodeJob(id, rec)
	switch {
	case !j.Final() || j.FinishedMs == 0:
		return true // its next end puts it on the list again
	case p.young(j.FinishedMs) || p.telling[key]:
		return false
	}
	p.b.Equal(key, layout.JobFinishedMs, rec.Get(layout.JobFinishedMs))
	p.b.Delete(key).Delete(layout.Logs(id)).Delete(layout.Checkpoint(id))
	return true
}

// flowEntry is entry for a flow.
func (p *pruning) flowEntry(id domain.FlowID, key string, rec board.Record) bool {
	stale, _ := board.Number(rec.Get(layout.FlowStale))
	ended := int64(number(rec.Get(layout.FlowFinishedMs)))
	switch {
	case rec == nil:
		return true
	case p.stale[key] < stale:
		p.stale[key]++
		p.b.Equal(key, layout.FlowStale, rec.Get(layout.FlowStale))
		p.b.Add(key, layout.FlowStale, -1)
		return true
	case !domain.FlowStatus(rec.Get(layout.FlowStatus)).Final() || ended == 0:
		return true // its next end puts it on the list again
	case p.young(ended):
		return false
	}
	p.b.Equal(key, layout.FlowFinishedMs, rec.Get(layout.FlowFinishedMs))
	p.flow = id
	return true
}

// messageEntry is entry for a message. One in an inbox has no entry yet.
func (p *pruning) messageEntry(id domain.MessageKey, rec board.Record) bool {
	ended := int64(number(rec.Get(layout.MessageEndedMs)))
	switch {
	case !domain.MessageStatus(rec.Get(layout.MessageStatus)).Final() || ended == 0:
		return true // gone; or its end puts it on the list again
	case p.young(ended):
		return false
	}
	p.b.Equal(id.String(), layout.MessageEndedMs, rec.Get(layout.MessageEndedMs))
	p.b.Delete(id.String()).Delete(layout.MessageLog(id)).Delete(layout.Notes(id))
	return true
}
