package clockwork

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has a board and its archive count the same steps while nodes run, by which one that was set back is known.

// Run takes steps until ctx ends. Where the archive was away before, it looks first.
//
// Errors: [domain.ErrConflict] for an archive that is not the board's.
func (p *Pairing) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		var err error
		if !p.known {
			err = p.Recognise(ctx)
		}
		if p.known {
			err = p.place(ctx)
		}
		if p.known && err == nil {
			err = p.step(ctx)
		}
		if errors.Is(err, domain.ErrConflict) {
			return err
		}
		select {
		case <-time.After(stepEvery):
		case <-ctx.Done():
		}
	}
	if p.known { // so that each life has one more than a copy of before
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = p.step(last) // nothing depends on it
	}
	return nil
}

// place refuses to go on where the board is archived elsewhere by now: others have said so while this node was
// taken for dead, or began at the same moment.
func (p *Pairing) place(ctx context.Context) error {
	recs, err := p.Board.Get(ctx, 0, layout.Archive)
	if err != nil {
		return err
	}
	if is := recs[0].Get(layout.ArchiveWhere); is != p.Where {
		return domain.Conflictf("this node archives to %s, and other nodes of its board to %s: give this node the same --archive", p.Where, cmp.Or(is, "nowhere"))
	}
	return nil
}

// step has both take one, once the board says that this is its archive: of nodes that begin at the same moment
// with an archive each, one is refused. What another node does meanwhile says the same.
func (p *Pairing) step(ctx context.Context) (err error) {
	began := p.Board.Now().UnixMilli()
	defer func() {
		if err == nil {
			p.steppedMs = began
		}
	}()
	recs, err := p.Board.Get(ctx, 0, layout.Identity, layout.Archive)
	if err != nil {
		return err
	}
	marks, err := p.Archive.Marks(ctx)
	if err != nil {
		return err
	}
	if recs[1].Get(layout.ArchiveWhere) != p.Where {
		return nil // the board's archive is none yet, or another, whose node would take the step for a loss of its own
	}
	was := recs[0].Get(layout.IdentityStep)
	here, ended := stepOf(was), endedBefore(recs[1])
	text, err := p.Archive.Mark(ctx, markStep, was, strconv.FormatInt(here+1, 10))
	if err != nil {
		return err
	}
	switch there := stepOf(text); {
	case there == 0: // it was made anew, or is another node's
		return p.refuse(archiveOlder)
	case marks[markBoard] != recs[0].Get(layout.IdentityID):
		return p.refuse(strange)
	case there < here:
		return p.archiveBack(ctx, was)
	case there > here+1:
		return p.ahead(ctx, there)
	case text == strconv.FormatInt(here+1, 10) && ended > stepOf(marks[markEnded]): // it has what it had
		if _, err := p.Archive.Mark(ctx, markEnded, marks[markEnded], strconv.FormatInt(ended, 10)); err != nil {
			return err
		}
		fallthrough
	default:
		return p.set(ctx, was, there)
	}
}

// endedBefore is up to when the archive has all that ended, Unix ms, as its archiver said; 0 where that is not known.
func endedBefore(rec board.Record) int64 {
	l := layout.DecodeArchiveBacklog(rec)
	switch {
	case l == nil || l.Waiting > 0 && l.OldestMs == 0:
		return 0
	case l.Waiting > 0:
		return l.OldestMs
	}
	return l.ToldMs - endsWithin.Milliseconds()
}

// archiveBack goes on with an archive that went back under running nodes. One that has lost only what it
// can have again, as where a replica that was a moment behind took its place, is no loss.
func (p *Pairing) archiveBack(ctx context.Context, was string) error {
	lost, err := p.archiveAgain(ctx)
	if err != nil {
		return err
	}
	next := stepOf(was) + 1
	b := new(board.Batch).Equal(layout.Identity, layout.IdentityStep, was).
		Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: strconv.FormatInt(next, 10)})
	if lost != "" {
		err = p.repair(ctx, archiveOlder, b)
	} else if err = p.Board.Commit(ctx, *b); err == nil {
		p.Logger.Warn("the archive went back to what it had before; all that it lost is on the board still, and is archived again", "archive", p.Where)
	}
	if errors.Is(err, domain.ErrConflict) {
		return nil // another node does this
	}
	if err != nil {
		return err
	}
	return p.align(ctx, next)
}

// ahead looks why the archive is more than a step ahead of what the board had a moment ago: others have taken
// steps since, or the board went back.
func (p *Pairing) ahead(ctx context.Context, there int64) error {
	recs, err := p.Board.Get(ctx, 0, layout.Identity)
	if err != nil {
		return err
	}
	was := recs[0].Get(layout.IdentityStep)
	if there <= stepOf(was)+1 {
		return nil
	}
	b := new(board.Batch).Equal(layout.Identity, layout.IdentityStep, was).
		Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: strconv.FormatInt(there, 10)})
	if err := p.repair(ctx, boardOlder, b); !errors.Is(err, domain.ErrConflict) {
		return err
	}
	return nil // another node does this
}

// align has both go on from a step.
func (p *Pairing) align(ctx context.Context, step int64) error {
	marks, err := p.Archive.Marks(ctx)
	if err == nil {
		_, err = p.Archive.Mark(ctx, markStep, marks[markStep], strconv.FormatInt(step, 10))
	}
	if err != nil {
		return err
	}
	recs, err := p.Board.Get(ctx, 0, layout.Identity)
	if err != nil {
		return err
	}
	return p.set(ctx, recs[0].Get(layout.IdentityStep), step)
}

// set writes down the board's step.
func (p *Pairing) set(ctx context.Context, was string, step int64) error {
	if step <= stepOf(was) {
		return nil
	}
	b := new(board.Batch).Equal(layout.Identity, layout.IdentityStep, was).
		Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: strconv.FormatInt(step, 10)})
	if err := p.Board.Commit(ctx, *b); !errors.Is(err, domain.ErrConflict) {
		return err
	}
	return nil
}

func stepOf(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
