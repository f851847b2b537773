package identity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// auditRoom bounds the entries that wait to be written.
	auditRoom = 4096
	// auditGather is how long entries wait for others: one commit takes many.
	auditGather = 250 * time.Millisecond
	// auditPatience is the pause after a commit that failed, and how long the
	// last one may take.
	auditPatience = time.Second
	// auditChunk bounds the lines of one commit.
	auditChunk = 200

	// foldFor is how long equal refusals are counted before they are written
	// again: the first at once, the others as one line with their number.
	foldFor = time.Minute
	// foldMost bounds how many different refusals of one actor are written one
	// by one in that time; what is more is one line. So somebody who tries
	// everything needs hours to push older lines out of the log, and costs the
	// board a few lines a minute.
	foldMost = 32
	// foldRoom bounds all of them.
	foldRoom = auditRoom
)

// Recorder takes entries of the audit log.
type Recorder interface {
	// Record never blocks.
	Record(e domain.AuditEntry)
}

// Discard is a Recorder that keeps nothing.
type Discard struct{}

// Record keeps nothing.
func (Discard) Record(domain.AuditEntry) {}

// AuditLog writes what was denied, refused or done by hand to the board, where
// every node and every admin finds it. What changes rights does not come this
// way: the [Registry] writes its line in the commit of the change itself.
//
// Lines are written in batches, a moment later. They wait in a room of limited
// size; what finds no place there is counted and lost. A line whose context
// does not exist is written for the node.
type AuditLog struct {
	registry *Registry
	log      *slog.Logger
	wake     chan struct{} // has one when there is something to write; never closed
	dropped  atomic.Int64

	writing sync.Mutex // one flush at a time, so that lines keep their order

	mu      sync.Mutex
	waiting []domain.AuditEntry
	folds   map[domain.AuditEntry]*fold // by the entry without time and number
	folded  map[domain.ActorID]int      // different refusals of each actor
	foldEnd time.Time                   // when folds are written; zero while there are none
}

// fold counts refusals that are equal.
type fold struct {
	count  int
	lastMs int64
}

// NewAuditLog returns the audit log of a registry's board. Lines are written to
// log, too, as warnings where something was refused (none when nil).
func NewAuditLog(r *Registry, log *slog.Logger) *AuditLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &AuditLog{registry: r, log: log, wake: make(chan struct{}, 1),
		folds: map[domain.AuditEntry]*fold{}, folded: map[domain.ActorID]int{}}
}

// Dropped is how many entries were lost because there were too many at once.
func (l *AuditLog) Dropped() int64 { return l.dropped.Load() }

// Record keeps an entry; its time and node are set where they are not. It never
// blocks.
func (l *AuditLog) Record(e domain.AuditEntry) {
	e = e.Cut()
	e.AtMs = cmp.Or(e.AtMs, l.registry.board.Now().UnixMilli())
	e.Node = cmp.Or(e.Node, l.registry.node)
	if !l.keep(e) {
		return
	}
	l.write(e)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// keep puts an entry among those that wait; false where it was only counted.
func (l *AuditLog) keep(e domain.AuditEntry) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Outcome != domain.AuditDone && l.fold(&e) {
		return false
	}
	if len(l.waiting) >= auditRoom {
		l.dropped.Add(1)
		return false
	}
	l.waiting = append(l.waiting, e)
	return true
}

// fold reports whether an equal refusal was kept a moment ago, and counts e
// then. Where its actor has had its share of lines, e becomes the one that
// stands for all others. l.mu is held.
func (l *AuditLog) fold(e *domain.AuditEntry) bool {
	if l.foldEnd.IsZero() {
		l.foldEnd = time.Now().Add(foldFor)
	}
	if f := l.folds[foldKey(*e)]; f != nil {
		f.add(e.AtMs)
		return true
	}
	if l.folded[e.Actor] >= foldMost {
		e.Verb, e.Object, e.Context, e.Detail = "", "", 0, "others, not listed one by one"
		if f := l.folds[foldKey(*e)]; f != nil {
			f.add(e.AtMs)
			return true
		}
	}
	if len(l.folds) >= foldRoom {
		l.dropped.Add(1)
		return true
	}
	l.folded[e.Actor]++
	l.folds[foldKey(*e)] = &fold{}
	return false
}

func foldKey(e domain.AuditEntry) domain.AuditEntry {
	e.AtMs, e.Count = 0, 0
	return e
}

func (f *fold) add(atMs int64) {
	f.count++
	f.lastMs = atMs
}

// write writes an entry to the node's own log.
func (l *AuditLog) write(e domain.AuditEntry) {
	level := slog.LevelWarn
	if e.Outcome == domain.AuditDone {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.Uint64("actor", uint64(e.Actor)), slog.String("verb", e.Verb), slog.String("object", e.Object),
		slog.Uint64("context", uint64(e.Context))}
	if e.Detail != "" {
		attrs = append(attrs, slog.String("detail", e.Detail))
	}
	l.log.LogAttrs(context.Background(), level, string(e.Outcome), attrs...)
}

// Run writes to the board what is recorded, until ctx ends; then what waits
// still.
func (l *AuditLog) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if l.await(ctx) {
			pause.For(ctx, auditGather)
		}
		if err := l.Flush(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("audit log not written; it is tried again", "err", err)
			pause.For(ctx, auditPatience)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditPatience)
	defer cancel()
	l.closeFolds(time.Time{})
	if err := l.Flush(ctx); err != nil {
		l.log.Warn("the end of the audit log is not on the board", "err", err)
	}
	return nil
}

// await waits for something to write: true where more may come with it.
func (l *AuditLog) await(ctx context.Context) bool {
	l.mu.Lock()
	waiting, end := len(l.waiting), l.foldEnd
	l.mu.Unlock()
	if waiting > 0 {
		return true
	}
	var due <-chan time.Time
	if !end.IsZero() {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-l.wake:
		return true
	case <-due:
		l.closeFolds(time.Now())
	case <-ctx.Done():
	}
	return false
}

// closeFolds lets what was counted be written, if its time has come; the zero
// time is that it has.
func (l *AuditLog) closeFolds(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.IsZero() && now.Before(l.foldEnd) {
		return
	}
	for e, f := range l.folds {
		switch {
		case f.count == 0:
		case len(l.waiting) >= auditRoom:
			l.dropped.Add(1)
		default:
			e.AtMs, e.Count = f.lastMs, f.count
			l.waiting = append(l.waiting, e)
		}
	}
	clear(l.folds)
	clear(l.folded)
	l.foldEnd = time.Time{}
}

// Flush writes what waits. What could not be written waits on.
//
// Errors: [domain.ErrUnavailable].
func (l *AuditLog) Flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		l.mu.Lock()
		part := slices.Clone(l.waiting[:min(len(l.waiting), auditChunk)])
		l.mu.Unlock()
		if len(part) == 0 {
			return nil
		}
		if err := l.commit(ctx, part); err != nil {
			return err
		}
		l.mu.Lock()
		l.waiting = slices.Delete(l.waiting, 0, len(part)) // only this takes from the front
		l.mu.Unlock()
	}
}

// commit writes entries, each into the space of its context.
func (l *AuditLog) commit(ctx context.Context, entries []domain.AuditEntry) error {
	batches := map[board.Space]*noted{}
	for _, e := range entries {
		space, err := l.spaceOf(ctx, e.Context)
		if err != nil {
			return err
		}
		if batches[space] == nil {
			batches[space] = &noted{Batch: board.Batch{Space: space}}
		}
		batches[space].entries = append(batches[space].entries, e)
	}
	for space, b := range batches {
		// A second try after half of them are written doubles lines; better
		// than to lose some.
		err := l.registry.commit(ctx, *b)
		if errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil { // no list, for a foreign program wrote there: the other lines go on
			l.dropped.Add(int64(len(b.entries)))
			l.log.Error("audit log cannot be written", "context", uint32(space), "err", err)
		}
	}
	return nil
}

// spaceOf is where the entries of a context lie: in its own space if there is
// such a context. Strangers may name any.
func (l *AuditLog) spaceOf(ctx context.Context, tenant domain.TenantID) (board.Space, error) {
	if tenant == 0 {
		return 0, nil
	}
	_, err := l.registry.tenants.get(ctx, tenant)
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return 0, nil
	}
	return layout.SpaceOf(tenant), err
}

// AuditFilter says which lines of a log are wanted.
type AuditFilter struct {
	// Outcome, if given, takes only lines that ended so; denied takes what was
	// refused, too.
	Outcome domain.AuditOutcome
	// Actor, if given, takes only lines of that actor.
	Actor domain.ActorID
	// BeforeMs, if given, takes only lines older than that (Unix ms).
	BeforeMs int64
	// Most is how many lines are wanted. Lines of the same millisecond are not
	// parted, so that BeforeMs goes on behind them.
	Most int
}

// Entries reads the log of a context, or of the node where tenant is 0, newest
// first. more is true when there are older ones.
func (l *AuditLog) Entries(ctx context.Context, tenant domain.TenantID, f AuditFilter) (entries []domain.AuditEntry, more bool, err error) {
	lists := []string{layout.AuditLog, layout.AuditDenials}
	switch f.Outcome {
	case domain.AuditDone:
		lists = lists[:1]
	case domain.AuditDenied, domain.AuditRefused:
		lists = lists[1:]
	}
	for _, list := range lists {
		// The lists are short enough to be read whole: lines of several nodes
		// are not quite in the order of their times.
		most := l.registry.chains.keep.most() + 2*chainSlack
		lines, err := l.registry.board.List(ctx, layout.SpaceOf(tenant), list, -most, most)
		if err != nil {
			return nil, false, err
		}
		for _, line := range slices.Backward(lines) { // those of one millisecond, too, are newest first
			if e, ok := layout.DecodeAuditEntry(line); ok && f.takes(e) {
				entries = append(entries, e)
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b domain.AuditEntry) int { return cmp.Compare(b.AtMs, a.AtMs) })
	if len(entries) <= f.Most {
		return entries, false, nil
	}
	end := f.Most
	for end > 0 && end < len(entries) && entries[end].AtMs == entries[end-1].AtMs {
		end++
	}
	return entries[:end], end < len(entries), nil
}

// Chain reads up to limit lines of one list of the log as they lie there, oldest first, with
// the head of their chain. from is 0, and then next of the page before, which is 0 behind
// the last.
//
// Errors: [domain.ErrConflict] where lines were cut between two pages: begin anew.
func (l *AuditLog) Chain(ctx context.Context, tenant domain.TenantID, outcome domain.AuditOutcome, from int64, limit int) (
	head domain.AuditHead, lines []string, next int64, err error) {
	d := l.registry.directory
	name := chainName{layout.SpaceOf(tenant), layout.AuditLogList(outcome)}
	for range chainTries {
		if head, err = d.head(ctx, name); err != nil {
			return head, nil, 0, err
		}
		if from > 0 && from < head.Dropped {
			return head, nil, 0, domain.Conflictf("lines of the audit log were cut while it was read: begin anew")
		}
		at := max(from, head.Dropped)
		if lines, err = d.board.List(ctx, name.space, name.list, int(at-head.Dropped), limit); err != nil {
			return head, nil, 0, err
		}
		after, err := d.head(ctx, name)
		if err != nil {
			return head, nil, 0, err
		}
		if after.Dropped != head.Dropped {
			continue // some were cut in between: what was read may not be what was meant
		}
		if next = at + int64(len(lines)); len(lines) < limit {
			next = 0
		}
		// Lines that came after the head was read are for the next time.
		for i, line := range lines {
			if e, ok := layout.DecodeAuditEntry(line); ok && e.Seq > head.Seq && after.Seq > head.Seq && e.Seq <= after.Seq {
				return head, lines[:i], 0, nil
			}
		}
		return head, lines, next, nil
	}
	return head, nil, 0, domain.Unavailablef("the audit log of context %d is cut all the time; try again", tenant)
}

func (f AuditFilter) takes(e domain.AuditEntry) bool {
	ended := f.Outcome == "" || e.Outcome == f.Outcome || f.Outcome == domain.AuditDenied && e.Outcome == domain.AuditRefused
	return ended && (f.Actor == 0 || e.Actor == f.Actor) && (f.BeforeMs == 0 || e.AtMs < f.BeforeMs)
}
