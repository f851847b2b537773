package clockwork

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file decides at which contexts a maintenance service looks in a round, so that a board costs
// what happens on it and not how many contexts it has:
//
//	where the last look found something    in every round
//	where something was committed since    in the next round
//	all others, one after the other        as many as a small share of a processor allows
//
// The last is for what the board does not tell of, by foreign programs or by nodes of an
// older version. With few contexts it is all of them in each round; with many it takes
// an hour at most. After a start, and when the board has lost sight of what changed, all
// are looked at first, with a larger share.

const (
	// calmShare is the part of a processor that the looks at all others may take, and
	// firstShare that of the first ones, each 1/n.
	calmShare  = 1_000
	firstShare = 20
	// walkWithin is within what time each context is looked at, whatever that takes.
	walkWithin = time.Hour
	// mostElapsed bounds for how long a time a share is made up.
	mostElapsed = time.Minute
	// tenantPage is how many contexts are read at once.
	tenantPage = 500
)

// lookFunc looks at one context. found is that there was something, or will be, for which to
// look again in the next round; its time is then not counted to the share.
type lookFunc func(ctx context.Context, t domain.TenantID) (found bool, err error)

// visits is what a maintenance service knows of the contexts.
type visits struct {
	board board.Board
	mark  string // from which the board is asked for changes
	// due are those to look at in the next round.
	due map[domain.TenantID]bool
	// calm is whether all were looked at since all may have changed.
	calm bool
	// after is the last that the walk has looked at, walked how many it has come by, and
	// all how many there were in the walk before.
	after       string
	walked, all int
	sliced      time.Time // when it last went on
}

func newVisits(b board.Board) *visits { return &visits{board: b, due: map[domain.TenantID]bool{}} }

// round looks at those that are due, and at some others. What goes wrong in one keeps
// none of the others from its turn, unless the board is away.
func (v *visits) round(ctx context.Context, every time.Duration, do lookFunc) error {
	if err := v.hear(ctx); err != nil {
		return err
	}
	var errs []error
	for _, t := range slices.Sorted(maps.Keys(v.due)) {
		if err := v.one(ctx, t, do); away(ctx, err) {
			return errors.Join(append(errs, err)...)
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, v.walk(ctx, every, do)...)...)
}

// hear makes those due in which something was committed.
func (v *visits) hear(ctx context.Context) error {
	c, err := v.board.Changed(ctx, v.mark)
	if err != nil {
		return err
	}
	v.mark = c.Next
	if c.All {
		v.calm, v.after, v.walked = false, "", 0
	}
	for _, s := range c.Spaces {
		v.due[domain.TenantID(s)] = true
	}
	return nil
}

// one looks at one context. It stays due while there is something, and until it could
// be looked at.
func (v *visits) one(ctx context.Context, t domain.TenantID, do lookFunc) error {
	found, err := do(ctx, t)
	if found || err != nil {
		v.due[t] = true
	} else {
		delete(v.due, t)
	}
	if err != nil {
		return fmt.Errorf("context %d: %w", t, err)
	}
	return nil
}

// walk goes on through all contexts, as far as its share allows, and at most once around.
// every is the time since the round before where that is not known.
func (v *visits) walk(ctx context.Context, every time.Duration, do lookFunc) (errs []error) {
	budget, least := v.allowed(time.Now(), every)
	for n, spent := 0, time.Duration(0); ; {
		begun := time.Now()
		page, err := v.board.Members(ctx, 0, layout.Contexts, v.after, tenantPage)
		if err != nil {
			return append(errs, err)
		}
		if len(page) == 0 {
			v.calm, v.all, v.after, v.walked = true, v.walked, "", 0
			return errs
		}
		spent += time.Since(begun)
		for _, m := range page {
			id, err := strconv.ParseUint(m, 10, 32)
			if err == nil && !v.due[domain.TenantID(id)] {
				begun := time.Now()
				err := v.one(ctx, domain.TenantID(id), do)
				if away(ctx, err) {
					return append(errs, err)
				} else if err != nil {
					errs = append(errs, err)
				}
				if !v.due[domain.TenantID(id)] {
					spent += time.Since(begun)
				}
			}
			v.after = m
			v.walked++
			if n++; n >= least && spent > budget {
				return errs
			}
		}
	}
}

// allowed is how long the walk may go on now, and how many it looks at in any case.
func (v *visits) allowed(now time.Time, every time.Duration) (budget time.Duration, least int) {
	elapsed := every
	if !v.sliced.IsZero() {
		elapsed = min(now.Sub(v.sliced), mostElapsed)
	}
	v.sliced = now
	if v.calm {
		return elapsed / calmShare, int(int64(v.all) * int64(elapsed) / int64(walkWithin))
	}
	return elapsed / firstShare, 0
}

// away reports whether there is no use in going on.
func away(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, domain.ErrUnavailable))
}

// Visits is the look of a maintenance service that does something in each context now and then. do
// is not told whether something is there: it is done where something was committed
// since, and else where the walk comes by.
func Visits(name string, every time.Duration, b board.Board, do func(ctx context.Context, t domain.TenantID) error) Maintenance {
	v := newVisits(b)
	return Maintenance{Name: name, Every: every, Round: func(ctx context.Context) error {
		return v.round(ctx, every, func(ctx context.Context, t domain.TenantID) (bool, error) { return false, do(ctx, t) })
	}}
}

// EachTenant calls do with every context of the board. What goes wrong in one
// keeps none of the others from its turn, unless the board is away.
func EachTenant(ctx context.Context, b board.Board, do func(domain.TenantID) error) error {
	after := ""
	var errs []error
	for {
		page, err := b.Members(ctx, 0, layout.Contexts, after, tenantPage)
		if err != nil || len(page) == 0 {
			return errors.Join(append(errs, err)...)
		}
		for _, m := range page {
			id, err := strconv.ParseUint(m, 10, 32)
			if err != nil {
				continue
			}
			err = do(domain.TenantID(id))
			switch {
			case err == nil:
			case away(ctx, err):
				return errors.Join(append(errs, err)...)
			default:
				errs = append(errs, fmt.Errorf("context %d: %w", id, err))
			}
		}
		after = page[len(page)-1]
	}
}
