package saga

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/stream"
)

// This file tells whether the streams are those that a board's sagas have read.
// A position means nothing in another stream: what that has up to there would be
// passed over as dealt with.

// Loss says what is accepted of streams.
type Loss struct {
	// Fewer: they may have less than sagas have read, as after a power cut. Sagas go
	// on where they end now.
	Fewer bool
	// Others: they may be others. Sagas read them from their beginning.
	Others bool
}

// Recognise compares the streams with what the board knows of them, and writes
// that down at the first time. Streams that are others, or have less than sagas
// have read of them, are refused, or become the board's where that is accepted. It
// waits for streams that are away: they were there when the log was opened.
//
// Errors: [domain.ErrConflict] for streams that are not the board's.
func (e *Engine) Recognise(ctx context.Context, accept Loss) error {
	wait, others := pauseMin, 0
	for {
		err := e.recognise(ctx, accept)
		switch {
		case errors.Is(err, errRecognised) && others < 20:
			others++
			continue
		case !errors.Is(err, domain.ErrUnavailable):
			return err
		}
		e.text.Warn("board or event streams are away; the node goes on when it knows whether they belong together", "err", err)
		if err := pause.For(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, time.Second)
	}
}

// errRecognised says that another node has written down streams meanwhile.
var errRecognised = domain.Conflictf("other nodes of the board say all the time which its event streams are")

// KnownStreams are the streams that the board's sagas have read from: they are not
// made anew without a word.
func KnownStreams(ctx context.Context, b board.Board) (list []domain.StreamName, err error) {
	recs, err := b.Get(ctx, 0, layout.Streams)
	if err != nil {
		return nil, err
	}
	for _, name := range domain.StreamNames {
		if recs[0].Get(string(name)) != "" {
			list = append(list, name)
		}
	}
	return list, nil
}

func (e *Engine) recognise(ctx context.Context, accept Loss) error {
	recs, err := e.board.Get(ctx, 0, layout.Streams)
	if err != nil {
		return err
	}
	all := seen{Loss: accept, begin: map[domain.StreamName]uint64{}, last: map[domain.StreamName]uint64{}}
	var b board.Batch
	marks := marksOf(recs[0])
	steps, err := e.steps(recs[0])
	if err != nil {
		return err
	}
	if steps.streamsOlder() {
		all.note(all.Fewer, "their files are a copy of before: they are at step %d, the board at %d", steps.there, steps.here)
	}
	for _, n := range domain.StreamNames {
		stats, err := e.log.Stats(ctx, n)
		if err != nil {
			return err
		}
		made, was := stats.Created.UTC().Format(time.RFC3339Nano), recs[0].Get(string(n))
		if was != "" && was != made {
			all.note(accept.Others, "%s was made at %s, that of this board at %s", n, made, was)
			all.begin[n] = 0
		}
		all.last[n] = stats.Last
		switch mark := marks[n]; {
		case mark <= stats.Last:
		case was == made:
			all.note(all.Fewer, "%s has %d messages, and had %d", n, stats.Last, mark)
			fallthrough
		default:
			b.Equal(layout.Streams, markField(n), recs[0].Get(markField(n))).Set(layout.Streams, markOf(n, stats.Last))
		}
		if was != made {
			b.Equal(layout.Streams, string(n), was).Set(layout.Streams, board.Field{Name: string(n), Value: made})
		}
	}
	sagas, err := e.served(ctx)
	if err != nil {
		return err
	}
	for _, s := range sagas {
		if err := e.recogniseFor(ctx, s, &all); err != nil {
			return fmt.Errorf("context %d: saga %s: %w", s.tenant, s.saga, err)
		}
	}
	if len(all.refused) > 0 {
		return domain.Conflictf("the event streams are not those of this board: %s; start the node with the --stream of the board's other nodes, or with "+
			"--accept-loss if its streams are lost: sagas go on with these then", strings.Join(all.refused[:min(3, len(all.refused))], "; "))
	}
	for _, text := range all.accepted {
		e.text.Error("sagas go on with event streams that have lost what they had, as --accept-loss or --may-lose says", "stream", text)
	}
	if steps.boardOlder() {
		if err := e.older(ctx, &b); err != nil {
			return err
		}
	}
	if len(all.accepted) > 0 {
		b.NextEpochOf(domain.LossOfStreams, e.board.Now(), "event streams have less than they had: "+strings.Join(all.accepted, "; "))
	}
	for range 2 {
		if err := steps.step(&b); err != nil {
			return err
		}
		if len(b.Ops) == 0 {
			return nil
		}
		if err = e.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			return errRecognised
		}
		if err != nil {
			return err
		}
		b = board.Batch{}
	}
	return nil
}

// stepField is the field with the step that the board shares with streams in the folder of
// a node. Each time that node begins, both take two, one after the other and the streams
// first: so the streams are at the board's step, or one ahead, as a crash between leaves
// them. Of the two, the one that is further behind is a copy of before.
const stepField = "step"

// steps are those of a board and of streams that have one.
type steps struct {
	log         stream.Stepped // nil: the streams lie elsewhere
	here, there int64          // of the board, of the streams; 0: of an earlier version, or restored
}

func (e *Engine) steps(rec board.Record) (s steps, err error) {
	log, ok := e.log.(stream.Stepped)
	if !ok {
		return s, nil
	}
	kept := false
	if s.there, kept, err = log.Step(); err != nil || !kept {
		return s, err
	}
	s.log = log
	s.here, _ = strconv.ParseInt(rec.Get(stepField), 10, 64)
	return s, nil
}

func (s steps) boardOlder() bool   { return s.here > 0 && s.there > s.here+1 }
func (s steps) streamsOlder() bool { return s.there > 0 && s.here > s.there }

// step has the streams take one, and adds to a batch that the board takes it.
func (s *steps) step(b *board.Batch) error {
	if s.log == nil {
		return nil
	}
	was, next := "", s.here+1
	if s.here > 0 {
		was = strconv.FormatInt(s.here, 10)
	}
	if s.boardOlder() {
		next = s.there + 1
	}
	if err := s.log.SetStep(next); err != nil {
		return err
	}
	b.Equal(layout.Streams, stepField, was).Set(layout.Streams, board.Field{Name: stepField, Value: strconv.FormatInt(next, 10)})
	s.here, s.there = next, next
	return nil
}

// older begins an epoch, for the board has lost what its streams know of; not where one of
// the board has begun just now, for the same reason: who began it knows more of what is lost.
func (e *Engine) older(ctx context.Context, b *board.Batch) error {
	const cause = "the board is older than its event streams: it is a copy of before, or has lost what it had since"
	// One of a node whose clock was ahead may lie in what is still to come.
	recs, err := e.board.Get(ctx, 0, board.EpochKey)
	if err != nil || e.board.Now().Sub(board.EpochOf(recs[0]).Last(domain.LossOfBoard)).Abs() < time.Minute {
		return err
	}
	if err := layout.Leap(ctx, e.board); err != nil {
		return err
	}
	e.text.Error("numbers of jobs and flows go on beyond those that may have been given out", "because", cause)
	b.NextEpoch(e.board.Now(), cause)
	return nil
}

// markEvery is how often it is written down how far the streams have come.
const markEvery = 5 * time.Second

// KeepMarks writes down on the board how far the streams have come, until ctx ends:
// by that streams are known that have lost their end, or are a copy of before, also
// where no saga had read so far. What other nodes have written down there, the log is told:
// it takes nothing more of a stream that has less. Where another node has gone on with less,
// [Config].Passed is told.
func (e *Engine) KeepMarks(ctx context.Context) {
	var known map[domain.StreamName]uint64
	for ctx.Err() == nil {
		// What was stored for that long is on the disk.
		if err := pause.For(ctx, markEvery); err != nil {
			break
		}
		e.mark(ctx, known)
		known = e.lasts(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	e.mark(last, e.lasts(last))
}

// lasts are the last sequences of those streams that can be asked.
func (e *Engine) lasts(ctx context.Context) map[domain.StreamName]uint64 {
	all := map[domain.StreamName]uint64{}
	for _, n := range domain.StreamNames {
		if stats, err := e.log.Stats(ctx, n); err == nil {
			all[n] = stats.Last
		}
	}
	return all
}

// mark writes down how far streams had come, where the board does not know it. What
// another node writes at the same time says the same.
func (e *Engine) mark(ctx context.Context, known map[domain.StreamName]uint64) {
	recs, err := e.board.Get(ctx, 0, layout.Streams)
	if err == nil {
		e.hand(recs[0])
	}
	var b board.Batch
	for n, last := range known {
		if err == nil && last > marksOf(recs[0])[n] {
			b.Equal(layout.Streams, markField(n), recs[0].Get(markField(n))).Set(layout.Streams, markOf(n, last))
		}
	}
	if len(b.Ops) > 0 {
		err = e.board.Commit(ctx, b)
	}
	if err != nil {
		e.text.Debug("how far event streams have come is not written down", "err", err)
	}
}

// hand has the log know what the board knows of its streams.
func (e *Engine) hand(rec board.Record) {
	log, ok := e.log.(stream.Told)
	if !ok {
		return
	}
	for n, last := range marksOf(rec) {
		if created, err := time.Parse(time.RFC3339Nano, rec.Get(string(n))); err == nil {
			log.Had(n, created, last)
		}
	}
	if err := log.Passed(); err != nil {
		e.cfg.Passed(err)
	}
}

// beyond says of a stream that it has less than was read of it; "" where it has all.
func beyond(n domain.StreamName, at, last uint64) string {
	if at <= last {
		return ""
	}
	return fmt.Sprintf("%s was read up to %d, and ends at %d: it has lost messages, or is another, and what it takes up to there is passed over; give the nodes "+
		"the streams that they had and restart all of them; only where these are lost, the first one with --accept-loss", n, at, last)
}

// markField is the field with how far a stream has come.
func markField(n domain.StreamName) string { return string(n) + "/last" }

func markOf(n domain.StreamName, last uint64) board.Field {
	return board.Field{Name: markField(n), Value: strconv.FormatUint(last, 10)}
}

func marksOf(r board.Record) map[domain.StreamName]uint64 {
	all := map[domain.StreamName]uint64{}
	for _, n := range domain.StreamNames {
		all[n], _ = strconv.ParseUint(r.Get(markField(n)), 10, 64)
	}
	return all
}

// seen is what is known of the streams.
type seen struct {
	Loss
	refused, accepted []string                     // what is wrong with them
	begin             map[domain.StreamName]uint64 // of those that are others
	last              map[domain.StreamName]uint64
}

func (a *seen) note(accepted bool, format string, args ...any) {
	to := &a.refused
	if accepted {
		to = &a.accepted
	}
	*to = append(*to, fmt.Sprintf(format, args...))
}

// recogniseFor compares how far a saga has come with what the streams have. Where
// nothing is refused it goes on where that is.
func (e *Engine) recogniseFor(ctx context.Context, s claim, all *seen) error {
	name, err := e.cfg.Names.TenantName(ctx, s.tenant)
	if err != nil {
		return err
	}
	p, err := e.positions(ctx, s.tenant, name, s.saga)
	if err != nil || len(p.list) == 0 {
		return err
	}
	begin := map[domain.StreamName]uint64{}
	for _, n := range read {
		if len(p.now().Reads[n]) == 0 {
			continue
		}
		_, most := p.span(len(p.list)-1, n)
		seq, other := all.begin[n]
		if !other && most > all.last[n] { // it may have grown since
			stats, err := e.log.Stats(ctx, n)
			if err != nil {
				return err
			}
			all.last[n] = stats.Last
		}
		switch {
		case other:
			begin[n] = seq
		case most > all.last[n]:
			begin[n] = all.last[n]
			all.note(all.Fewer, "%s has %d messages, saga %s of context %d has read %d", n, all.last[n], s.saga, s.tenant, most)
		}
	}
	if len(begin) == 0 || len(all.refused) > 0 {
		return nil
	}
	return e.reread(ctx, s.tenant, name, s.saga, p, begin)
}
