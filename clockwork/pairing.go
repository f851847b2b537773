package clockwork

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file tells whether a board and an archive belong together, and whether one of
// them is a copy of before. They have the board's id, and a step that both take every
// few seconds, the archive first. So the archive is at the board's step or one ahead:
// one that is behind is older than the board, and a board that is further behind is
// older than its archive. A node that begins takes two, so that a copy of a moment before
// is that far behind. One step ahead is what a crash between the two leaves, or a board
// that lost less than a step: then the numbers say which, for the archive has none that
// its board has not given out, but for those that their callers have chosen.
//
// They go on with that as long as they live, for either may be set back under running nodes. An
// archive of which a replica took the place may have lost its last moment, as well as all that
// came since yesterday: what the board has still is archived again, and lost is what had left the
// board since the last end up to which the archive says that it has them all: docs/decisions/0075.

const (
	markBoard = "board" // whose archive it is: the id of the board
	markStep  = "step"
	markEnded = "ended_ms" // it has all that ended before, Unix ms

	stepEvery = 10 * time.Second
	// lookAgain is how long a step of another node takes at most that was seen half.
	lookAgain = time.Second
	// lastNumber is the highest that an id may be.
	lastNumber = 1<<32 - 1
	// endsWithin is how long after the instant that an end names the board has it at the latest.
	endsWithin = 10 * time.Second
)

// Pairing is a board and its archive.
type Pairing struct {
	Board   board.Board
	Archive archive.Archive
	// Where names the archive, for people. New says that the board was archived
	// elsewhere before, or nowhere.
	Where string
	New   bool
	// Stays is whether this node stays. One that is made for a command may read an
	// archive that is not its board's.
	Stays bool
	// AcceptLoss goes on with an archive that is another board's or older.
	AcceptLoss bool
	// Logger is required.
	Logger *slog.Logger

	known     bool  // they belong together
	steppedMs int64 // when this node's last step began, by the board's clock; 0 before any
}

// Recognise refuses an archive that is another board's, or has lost what it had. Where
// the board has, a new epoch begins, and its numbers go on beyond those of the archive.
//
// Errors: [domain.ErrConflict]; [domain.ErrUnavailable] where nothing is known yet.
func (p *Pairing) Recognise(ctx context.Context) error {
	id, err := Identity(ctx, p.Board)
	if err != nil {
		return err
	}
	v, here, there, err := p.look(ctx, id)
	if err == nil && p.half(v, here, there) {
		half := there
		select { // another node may be about to take it
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
		if v, here, there, err = p.look(ctx, id); err == nil && p.half(v, here, there) && there == half {
			v, err = p.byNumbers(ctx)
		}
	}
	switch {
	case err != nil:
		return err
	case v == strange && !p.Stays:
		return nil
	case (v == strange || v == archiveOlder) && !p.AcceptLoss:
		return p.refuse(v)
	case v == strange:
		if err := p.own(ctx, id); err != nil {
			return err
		}
	}
	err = p.repair(ctx, v, new(board.Batch))
	if err == nil && here != there && p.Stays {
		err = p.align(ctx, max(here, there))
	}
	p.known = err == nil
	for step := 0; step < 2 && err == nil && p.Stays; step++ {
		err = p.step(ctx)
	}
	return err
}

// half says that the archive alone has taken a step, and that this node is to find out why:
// one that is made for a command leaves that to those that stay.
func (p *Pairing) half(v belonging, here, there int64) bool {
	return p.Stays && v == together && there == here+1
}

// byNumbers decides by the numbers that the archive has: those of flows, which are given out
// always, and those of jobs whose callers have not chosen any. Messages have the numbers that
// they came with.
func (p *Pairing) byNumbers(ctx context.Context) (belonging, error) {
	highest, err := p.Archive.Highest(ctx) // before the board, which gives out more meanwhile
	if err != nil {
		return together, err
	}
	given := map[domain.TenantID]map[string]int64{}
	for _, h := range highest {
		if h.Kind == domain.ArchiveMessage {
			continue
		}
		space := layout.SpaceOf(h.Context)
		if given[h.Context] == nil {
			if given[h.Context], err = p.given(ctx, space); err != nil {
				return together, err
			}
		}
		// A step is too short to give out more than the leap: what is further on was chosen,
		// before boards noted who chooses.
		beyond := h.ID - given[h.Context][layout.Seq(string(h.Kind), h.Caller)]
		if beyond <= 0 || beyond > board.EpochLeap {
			continue
		}
		chooses := false
		if h.Kind == domain.ArchiveJob {
			if chooses, err = layout.Chooses(ctx, p.Board, space, h.Caller); err != nil {
				return together, err
			}
		}
		if !chooses {
			return boardOlder, nil
		}
	}
	return together, nil
}

// given is the last number that each counter of a space has given out.
func (p *Pairing) given(ctx context.Context, space board.Space) (map[string]int64, error) {
	all := map[string]int64{}
	for cursor := ""; ; {
		counters, next, err := p.Board.Counters(ctx, space, cursor, 500)
		if err != nil {
			return nil, err
		}
		for _, c := range counters {
			all[c.Key] = c.Last
		}
		if cursor = next; cursor == "" {
			return all, nil
		}
	}
}

// look compares the two. An archive that nobody owns becomes that of a node that stays.
// The board is read twice, as others may take steps meanwhile: what the archive had between is
// not less than the board had before, nor more than one ahead of what the board has after.
func (p *Pairing) look(ctx context.Context, id string) (v belonging, here, there int64, err error) {
	before, err := p.Board.Get(ctx, 0, layout.Identity)
	if err != nil {
		return v, 0, 0, err
	}
	marks, err := p.Archive.Marks(ctx)
	owner := marks[markBoard]
	if err == nil && owner == "" && p.Stays {
		owner, err = p.Archive.Mark(ctx, markBoard, "", id)
	}
	if err != nil {
		return v, 0, 0, err
	}
	after, err := p.Board.Get(ctx, 0, layout.Identity)
	if err != nil {
		return v, 0, 0, err
	}
	here, there = stepOf(before[0].Get(layout.IdentityStep)), stepOf(marks[markStep])
	if now := stepOf(after[0].Get(layout.IdentityStep)); here <= there {
		here = min(now, there)
	}
	return verdict(owner == id, here, there, p.New), here, there, nil
}

// own makes the archive that of this board.
func (p *Pairing) own(ctx context.Context, id string) error {
	marks, err := p.Archive.Marks(ctx)
	if err == nil {
		_, err = p.Archive.Mark(ctx, markBoard, marks[markBoard], id)
	}
	return err
}

// belonging is how a board and an archive belong together.
type belonging string

const (
	together     belonging = "the board has begun an epoch"
	strange      belonging = "the archive is that of another board, whose place this one has taken"
	archiveOlder belonging = "the archive is older than the board: it has lost what it had since, or was made anew"
	boardOlder   belonging = "the board is older than its archive: it is a copy of before, or has lost what it had since"
)

// lost is which of the two has lost something.
func (v belonging) lost() domain.LossOf {
	if v == archiveOlder {
		return domain.LossOfArchive
	}
	return domain.LossOfBoard
}

// verdict decides by the steps of both.
func verdict(own bool, here, there int64, other bool) belonging {
	switch {
	case !own:
		return strange
	case there > here+1:
		return boardOlder
	case here > there && !other:
		return archiveOlder
	}
	return together
}

func (p *Pairing) refuse(v belonging) error {
	if v == strange {
		return domain.Conflictf("archive %s is that of another board, and jobs and flows have the same numbers there: give this node the --archive "+
			"of its board, or one of its own; or start with --accept-loss if this board has taken the place of that one: "+
			"its numbers go on beyond those of the archive", p.Where)
	}
	return domain.Conflictf("archive %s has less than this board has archived: it is a copy of before, or was made anew, or is another node's; "+
		"give this node the archive of its board, or start with --accept-loss if that is lost", p.Where)
}

// Identity is the board's id, which is made at the first time.
func Identity(ctx context.Context, on board.Board) (string, error) {
	for {
		recs, err := on.Get(ctx, 0, layout.Identity)
		if err != nil {
			return "", err
		}
		if id := recs[0].Get(layout.IdentityID); id != "" {
			return id, nil
		}
		b := new(board.Batch).Equal(layout.Identity, layout.IdentityID, "").
			Set(layout.Identity, board.Field{Name: layout.IdentityID, Value: rand.Text()})
		if err := on.Commit(ctx, *b); err != nil && !errors.Is(err, domain.ErrConflict) {
			return "", err
		}
	}
}

// repair begins an epoch where something is lost, in a batch that the caller may have guarded. In
// one that is new, also if the board's driver has begun it, numbers go on beyond those of the archive.
func (p *Pairing) repair(ctx context.Context, v belonging, b *board.Batch) error {
	recs, err := p.Board.Get(ctx, 0, board.EpochKey, layout.Identity)
	if err != nil {
		return err
	}
	epoch := board.EpochOf(recs[0]).Number
	if v == together && (recs[1].Get(layout.IdentityEpoch) == strconv.FormatInt(epoch, 10) || epoch == 0) {
		return nil
	}
	var beyond int64
	if v == boardOlder || v == strange {
		beyond = board.EpochLeap
	}
	highest, err := p.Archive.Highest(ctx)
	if err != nil {
		return err
	}
	if beyond > 0 { // what was asked for and had not ended, the archive does not know
		if err := layout.Leap(ctx, p.Board); err != nil {
			return err
		}
	}
	if err := p.skip(ctx, highest, beyond); err != nil {
		return err
	}
	lost := ""
	if v == archiveOlder || v == strange {
		if lost, err = p.archiveAgain(ctx); err != nil {
			return err
		}
		lost = cmp.Or(lost, "all of that is on the board still")
	}
	if v != archiveOlder { // what has left the board by its time is missing there for no other reason
		if lost, err = p.missing(ctx, highest); err != nil {
			return err
		}
	}
	if v != together {
		epoch++
		b.NextEpochOf(v.lost(), p.Board.Now(), strings.TrimSuffix(string(v)+"; "+lost, "; "))
	}
	switch {
	case v == archiveOlder:
		p.Logger.Error("what is on the board still is archived again, as the archive has lost it", "archive", p.Where, "because", string(v), "lost", lost)
	case v != together || lost != "":
		p.Logger.Error("numbers of jobs and flows go on beyond those of the archive", "archive", p.Where, "because", string(v), "lost", lost)
	}
	b.Set(layout.Identity, board.Field{Name: layout.IdentityEpoch, Value: strconv.FormatInt(epoch, 10)})
	return p.Board.Commit(ctx, *b)
}

// archiveAgain has what ended and is on the board still wait for the archive, which does not have it. It names
// the contexts of which something had left the board that the archive may not have any more.
func (p *Pairing) archiveAgain(ctx context.Context) (lost string, err error) {
	marks, err := p.Archive.Marks(ctx)
	if err != nil {
		return "", err
	}
	ended := time.UnixMilli(stepOf(marks[markEnded]))
	var of []string
	for after := ""; ; {
		page, err := p.Board.Members(ctx, 0, layout.Contexts, after, tenantPage)
		if err != nil {
			return "", err
		}
		if len(page) == 0 {
			break
		}
		for _, m := range page {
			id, err := strconv.ParseUint(m, 10, 32)
			if err != nil {
				continue // a foreign program's
			}
			gone, err := work.ArchiveAgain(ctx, p.Board, domain.TenantID(id))
			if err != nil {
				return "", err
			}
			if !gone.IsZero() && !gone.Before(ended) {
				of = append(of, m)
			}
		}
		after = page[len(page)-1]
	}
	if len(of) == 0 {
		return "", nil
	}
	slices.SortFunc(of, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	since := "" // one that is new has nothing at all
	if ended.UnixMilli() > 0 {
		since = "ended after " + ended.UTC().Format(time.RFC3339) + " and "
	}
	const named = 3
	more := ""
	if n := len(of) - named; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("gone is what %shad left the board, of context %s%s", since, strings.Join(of[:min(named, len(of))], ", "), more), nil
}

// skip has no counter give out what the archive has. Beyond is how many more may have
// been given out.
func (p *Pairing) skip(ctx context.Context, highest []archive.Highest, beyond int64) error {
	for _, h := range highest {
		if err := p.skipTo(ctx, h, h.ID+beyond); err != nil {
			return err
		}
	}
	return nil
}

// skipTo has the counter of a kind give out nothing up to last. A number that is more than half
// of all away, or behind which none would be left, somebody has chosen: the counter stays, as
// its caller could draw none any more.
func (p *Pairing) skipTo(ctx context.Context, h archive.Highest, last int64) error {
	space, key := layout.SpaceOf(h.Context), layout.Seq(string(h.Kind), h.Caller)
	next, err := p.Board.Next(ctx, space, key, 0)
	if err != nil || next > last || last-next > lastNumber/2 || last > lastNumber-board.EpochLeap {
		return err
	}
	_, err = p.Board.Next(ctx, space, key, int(last-next+1))
	return err
}

// missing names what the archive has that ended last, and the board no longer has: up to the first
// that the board knows. What ended since this node's last step may be of after the board went back, so
// that it says nothing of what is behind it.
func (p *Pairing) missing(ctx context.Context, highest []archive.Highest) (text string, err error) {
	const most, named = 500, 3
	var seen []domain.TenantID
	found := map[standing][]string{}
	more := ""
	for _, h := range highest {
		if slices.Contains(seen, h.Context) {
			continue
		}
		seen = append(seen, h.Context)
		page, err := p.Archive.Search(ctx, archive.Query{Context: h.Context, Limit: most})
		if err != nil {
			return "", err
		}
		n := 0
		for _, r := range page.Records {
			is, err := p.standing(ctx, &r)
			if err != nil {
				return "", err
			}
			if is == thereStill && (p.steppedMs == 0 || r.EndMs < p.steppedMs) {
				break
			}
			n++
			found[is] = append(found[is], fmt.Sprintf("%s of context %d, ended %s", r.Key, r.Context, time.UnixMilli(r.EndMs).UTC().Format(time.RFC3339)))
		}
		if n == most {
			more = "or more "
		}
	}
	var said []string
	for _, of := range []struct {
		is   standing
		text string
	}{
		{givenTwice, "%d %snumbers of what ended last were given out a second time, and each thing is in the archive by its own end: %s"},
		{goneFromHere, "the archive has %d %sthat ended last and the board no longer has: %s"},
	} {
		if names := found[of.is]; len(names) > 0 {
			said = append(said, fmt.Sprintf(of.text, len(names), more, strings.Join(names[:min(named, len(names))], ", ")))
		}
	}
	return strings.Join(said, "; "), nil
}

// standing is what the board has of a record of the archive.
type standing string

const (
	thereStill   standing = "there still"
	goneFromHere standing = "gone"
	givenTwice   standing = "another thing under its key"
)

// standing looks what the board has of a record. Another thing than that was asked for in another second; it says
// something only of numbers that are given out, as callers may choose one again, and messages bring theirs along.
func (p *Pairing) standing(ctx context.Context, r *archive.Record) (standing, error) {
	space := layout.SpaceOf(r.Context)
	recs, err := board.Readable(p.Board.Get(ctx, space, r.Key))
	switch {
	case err != nil:
		return "", err
	case recs[0] == nil:
		return goneFromHere, nil
	case r.Kind == domain.ArchiveMessage:
		return thereStill, nil
	}
	asked := stepOf(recs[0].Get(layout.JobCreatedAt)) // flows have a field of that name, too
	if asked == 0 || asked == r.BeginMs/1000 {
		return thereStill, nil
	}
	if r.Kind == domain.ArchiveJob {
		if chooses, err := layout.Chooses(ctx, p.Board, space, r.Caller); err != nil || chooses {
			return thereStill, err
		}
	}
	return givenTwice, nil
}
