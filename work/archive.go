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

// This file is what the archiver needs of ended work. The list
// [layout.Finished] is pushed on the left and trimmed on the right; each entry
// has a number, counted over all time. Two counters split it:
//
//	pushed ──> [ waits for the archive | archived, may expire ] ──> trimmed
//	            left                   archived         right
//
// Both only grow, unless the archive has lost what it had ([ArchiveAgain]), and what moves the
// second is guarded by both.

const (
	// endedChunk is how many records are read at once: each may have 4 MiB, and
	// as much log as its share allows.
	endedChunk = 32
	// endedBytes is about how large a stretch of what ended gets.
	endedBytes = 8 << 20
)

// Archive says where ended work of this board is archived; "" is nowhere.
func (e *Engine) Archive(ctx context.Context) (where string, err error) {
	recs, err := e.board.Get(ctx, 0, layout.Archive)
	if err != nil {
		return "", err
	}
	return recs[0].Get(layout.ArchiveWhere), nil
}

// SetArchive says for all nodes of the board where ended work is archived, which was said to be
// elsewhere; "" is nowhere: then it expires although no archive has it.
//
// Errors: [domain.ErrConflict] where another node has said something else since.
func (e *Engine) SetArchive(ctx context.Context, was, where string) error {
	var b board.Batch
	b.Equal(layout.Archive, layout.ArchiveWhere, was)
	if where == "" {
		b.Delete(layout.Archive)
	} else {
		b.Set(layout.Archive, board.Field{Name: layout.ArchiveWhere, Value: where})
	}
	return e.board.Commit(ctx, b)
}

// TellBacklog says for all nodes of the board what waits for the archive.
func (e *Engine) TellBacklog(ctx context.Context, l domain.ArchiveBacklog) error {
	var b board.Batch
	b.Set(layout.Archive, layout.EncodeArchiveBacklog(l)...)
	return e.board.Commit(ctx, b)
}

// counts are the counters of the list of ended work, as read.
type counts struct{ trimmed, archived string }

func countsOf(r board.Record) counts {
	return counts{r.Get(layout.TrimmedCount), r.Get(layout.ArchivedCount)}
}

// offset is how many entries at the right end are archived. A board that had
// no archive before has trimmed more.
func (c counts) offset() int { return max(0, number(c.archived)-number(c.trimmed)) }

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// Backlog is what of a context waits for the archive.
type Backlog struct {
	Tenant domain.TenantID
	// Waiting is how many ends wait.
	Waiting int
	// OldestMs is when the oldest of them was, in Unix ms; 0 where what ended is
	// gone or was started again.
	OldestMs int64

	counts counts
}

// Backlog reads what of a context waits for the archive.
func (e *Engine) Backlog(ctx context.Context, tenant domain.TenantID) (Backlog, error) {
	l := Backlog{Tenant: tenant}
	space := layout.SpaceOf(tenant)
	length, err := e.board.Len(ctx, space, layout.Finished)
	if err != nil || length[0] == 0 {
		return l, err
	}
	recs, err := e.board.Get(ctx, space, layout.Trimmed)
	if err != nil {
		return l, err
	}
	l.counts = countsOf(recs[0])
	if l.Waiting = max(0, length[0]-l.counts.offset()); l.Waiting == 0 {
		return l, nil
	}
	keys, err := e.oldest(ctx, l, 1)
	if err != nil || len(keys) == 0 {
		return l, err
	}
	recs, _, err = board.PerKey(e.board.GetFields(ctx, space, []string{layout.JobFinishedMs, layout.MessageEndedMs}, keys...))
	if err == nil {
		l.OldestMs = int64(number(cmp.Or(recs[0].Get(layout.JobFinishedMs), recs[0].Get(layout.MessageEndedMs))))
	}
	return l, err
}

// oldest are up to n entries that wait, oldest first. They are counted from the
// right, where nothing moves but what a commit of ours trims.
func (e *Engine) oldest(ctx context.Context, l Backlog, n int) ([]string, error) {
	n = min(n, l.Waiting)
	keys, err := e.board.List(ctx, layout.SpaceOf(l.Tenant), layout.Finished, -(l.counts.offset() + n), n)
	slices.Reverse(keys)
	return keys, err
}

// Ended is one of an ended job with its log, an ended message, an ended flow.
type Ended struct {
	Job     *domain.Job
	Logs    []domain.Log // the job's; a message has its own
	Message *domain.Message
	Flow    domain.FlowID
}

// Key is the key of what ended.
func (e *Ended) Key() string {
	switch {
	case e.Flow != 0:
		return domain.FlowKey(e.Flow)
	case e.Message != nil:
		return e.Message.Key().String()
	}
	return e.Job.Key().String()
}

// Ended reads a stretch of up to most of the oldest ends that wait for the
// archive, and how many entries it covers. It ends early where they are large.
// A job that was started again has its next end on the list too: it is left
// out until then, as is one that is gone.
func (e *Engine) Ended(ctx context.Context, l Backlog, most int) (list []Ended, covered int, err error) {
	keys, err := e.oldest(ctx, l, most)
	if err != nil {
		return nil, 0, err
	}
	bytes := 0
	for chunk := range slices.Chunk(keys, endedChunk) {
		part, size, err := e.readEnded(ctx, layout.SpaceOf(l.Tenant), chunk)
		if err != nil {
			return nil, 0, err
		}
		list, covered = append(list, part...), covered+len(chunk)
		if bytes += size; bytes > endedBytes {
			break
		}
	}
	return list, covered, nil
}

func (e *Engine) readEnded(ctx context.Context, space board.Space, keys []string) (list []Ended, bytes int, err error) {
	recs, bad, err := board.PerKey(e.board.Get(ctx, space, keys...))
	if err != nil {
		return nil, 0, err
	}
	if len(bad) > 0 {
		e.log.Warn("what has ended cannot be archived: its key holds another kind of thing", "context", uint32(space), "err", bad)
	}
	var jobs []Ended
	for i, item := range keys {
		if strings.HasPrefix(item, layout.FlowPrefix) {
			if id, err := domain.ParseFlowKey(item); err == nil && item == domain.FlowKey(id) {
				list = append(list, Ended{Flow: id})
			}
			continue
		}
		if recs[i] == nil || slices.Contains(keys[:i], item) {
			continue
		}
		if m := endedMessage(space, item, recs[i]); m != nil {
			list, bytes = append(list, Ended{Message: m}), bytes+sizeOf(recs[i])
		} else if j := endedJob(space, item, recs[i]); j != nil {
			jobs, bytes = append(jobs, Ended{Job: j}), bytes+sizeOf(recs[i])
		}
	}
	size, err := e.addLogs(ctx, space, jobs)
	if err != nil {
		return nil, 0, err
	}
	remembered, err := e.addHistories(ctx, space, jobs)
	return append(jobs, list...), bytes + size + remembered, err
}

// endedJob is the job of an item that has ended, nil where that is none. What
// a foreign program wrote wrongly is archived as far as it can be read.
func endedJob(space board.Space, item string, rec board.Record) *domain.Job {
	key, err := jobItem(item)
	if err != nil {
		return nil
	}
	j, _ := layout.DecodeJob(key, rec)
	if !j.Final() || j.FinishedMs <= 0 {
		return nil
	}
	j.ContextID = domain.TenantID(space)
	return j
}

// endedMessage is endedJob for messages.
func endedMessage(space board.Space, item string, rec board.Record) *domain.Message {
	key, err := messageItem(item)
	if err != nil {
		return nil
	}
	m, _ := layout.DecodeMessage(key, rec)
	if !m.Final() || m.EndedMs <= 0 {
		return nil
	}
	m.ContextID = domain.TenantID(space)
	return m
}

func messageItem(item string) (domain.MessageKey, error) {
	if !strings.HasPrefix(item, layout.MessagePrefix) {
		return domain.MessageKey{}, errNoMessage // most are jobs, and words about each would cost more than to read it
	}
	key, err := domain.ParseMessageKey(item)
	if err == nil && key.String() != item {
		err = domain.Invalidf("item %q is no message: want message:<caller>:<id>", item)
	}
	return key, err
}

var errNoMessage = domain.Invalidf("the item is no message: want message:<caller>:<id>")

func sizeOf(r board.Record) (n int) {
	for _, f := range r {
		n += len(f.Value)
	}
	return n
}

// addLogs reads the logs of jobs.
func (e *Engine) addLogs(ctx context.Context, space board.Space, jobs []Ended) (bytes int, err error) {
	if len(jobs) == 0 {
		return 0, nil
	}
	lists := make([]string, len(jobs))
	for i := range jobs {
		lists[i] = layout.Logs(jobs[i].Job.Key())
	}
	lengths, err := e.lengths(ctx, space, lists)
	if err != nil {
		return 0, err
	}
	for i, n := range lengths {
		if n == 0 {
			continue
		}
		if jobs[i].Logs, err = e.Logs(ctx, domain.TenantID(space), jobs[i].Job.Key(), 0, n); err != nil {
			return 0, err
		}
		for _, l := range jobs[i].Logs {
			bytes += len(l.Line)
		}
	}
	return bytes, nil
}

// lengths are the lengths of lists. What is no list counts as none.
func (e *Engine) lengths(ctx context.Context, space board.Space, lists []string) ([]int, error) {
	all, err := e.board.Len(ctx, space, lists...)
	if !errors.Is(err, domain.ErrInvalid) {
		return all, err
	}
	all = make([]int, len(lists))
	for i, list := range lists {
		n, err := e.board.Len(ctx, space, list)
		switch {
		case err == nil:
			all[i] = n[0]
		case !errors.Is(err, domain.ErrInvalid):
			return nil, err
		}
	}
	return all, nil
}

// MarkArchived says that the archive durably has the oldest covered ends of a
// backlog as it was read: from now on they may expire.
//
// Errors: [domain.ErrConflict] when somebody else has moved the list since.
func (e *Engine) MarkArchived(ctx context.Context, l Backlog, covered int) error {
	b := board.Batch{Space: layout.SpaceOf(l.Tenant)}
	b.Equal(layout.Trimmed, layout.TrimmedCount, l.counts.trimmed)
	b.Equal(layout.Trimmed, layout.ArchivedCount, l.counts.archived)
	now := max(number(l.counts.archived), number(l.counts.trimmed)) + covered
	b.Set(layout.Trimmed, board.Field{Name: layout.ArchivedCount, Value: strconv.Itoa(now)})
	return e.board.Commit(ctx, b)
}

// ArchiveAgain has all that ended in a context and is on the board still wait for the archive, as
// this has lost what it had. It returns when the youngest ended that has left the board, which
// cannot go there again: zero where nothing has.
func ArchiveAgain(ctx context.Context, b board.Board, tenant domain.TenantID) (gone time.Time, err error) {
	for {
		recs, err := b.Get(ctx, layout.SpaceOf(tenant), layout.Trimmed)
		if err != nil {
			return gone, err
		}
		if ms, _ := board.Number(recs[0].Get(layout.TrimmedEndMs)); ms > 0 {
			gone = time.UnixMilli(ms)
		}
		c := countsOf(recs[0])
		if c.offset() == 0 {
			return gone, nil
		}
		again := board.Batch{Space: layout.SpaceOf(tenant)}
		again.Equal(layout.Trimmed, layout.TrimmedCount, c.trimmed).Equal(layout.Trimmed, layout.ArchivedCount, c.archived)
		again.Set(layout.Trimmed, board.Field{Name: layout.ArchivedCount, Value: strconv.Itoa(number(c.trimmed))})
		again.Add(layout.Trimmed, layout.AgainCount, 1) // whoever is about to remove what was archived does not
		if err := b.Commit(ctx, again); !errors.Is(err, domain.ErrConflict) {
			return gone, err
		}
	}
}
