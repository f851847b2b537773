package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/saga"
)

// How many dead letters a page has, and how many one call deals with.
const (
	listDeadLetters = 100
	mostDeadLetters = 500
	lettersAtOnce   = 500
)

// ListDeadLetters lists a page.
func (c Caller) ListDeadLetters(ctx context.Context, p api.ListDeadLettersParams) (api.DeadLetterPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "deadletters"); err != nil {
		return api.DeadLetterPage{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return api.DeadLetterPage{}, err
	}
	if p.Limit < 0 || p.Limit > mostDeadLetters {
		return api.DeadLetterPage{}, domain.Invalidf("limit %d: want 1 to %d, or 0 for %d", p.Limit, mostDeadLetters, listDeadLetters)
	}
	f, err := findDeadLetters(ctx, c, engine, p, wanted[*domain.DeadLetter]{cursor: p.Cursor, limit: cmp.Or(p.Limit, listDeadLetters), count: p.Count})
	for _, d := range f.list {
		d.Event, d.Work, d.Data = nil, nil, ""
	}
	return api.DeadLetterPage{DeadLetters: f.list, Next: f.next, Count: f.count}, err
}

// findDeadLetters finds what of dead letters is wanted that a filter fits.
func findDeadLetters(ctx context.Context, c Caller, engine Sagas, p api.ListDeadLettersParams,
	w wanted[*domain.DeadLetter]) (found[*domain.DeadLetter], error) {
	q := saga.DeadQuery{Kind: p.Kind, Saga: p.Saga, Effect: p.Effect, Cause: p.Cause, Before: instant(p.BeforeMs), Limit: mostDeadLetters}
	if !p.Count && p.Where == "" && p.Narrowing == (api.Narrowing{}) {
		q.Limit = cmp.Or(w.limit, w.enough)
	}
	w.tenant, w.list = p.Context, listName("deadletters", p.DeadLetterFilter)
	w.where, w.name, w.narrow = p.Where, "letter", p.Narrowing
	w.made = func(d *domain.DeadLetter) int64 { return d.MadeMs }
	w.page = func(cursor string) ([]*domain.DeadLetter, listing.At, error) {
		q.Cursor = cursor
		list, next, err := engine.DeadLetters(ctx, p.Context, q)
		return list, listing.At{Next: next, Here: cursor, Looked: len(list)}, err
	}
	w.key, w.isKey = func(d *domain.DeadLetter) string { return anyKey(deadLetterObject(d.Kind, d.ID)) }, isAnyKey
	return find(ctx, c, w)
}

// instant is a time in Unix milliseconds; 0 is none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// ShowDeadLetter reads one with what it was.
func (c Caller) ShowDeadLetter(ctx context.Context, p api.DeadLetterParams) (*domain.DeadLetter, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, deadLetterObject(p.Kind, p.ID)); err != nil {
		return nil, err
	}
	if err := checkKind(p.Kind); err != nil {
		return nil, err
	}
	engine, err := c.sagas()
	if err != nil {
		return nil, err
	}
	return engine.DeadLetter(ctx, p.Context, p.Kind, p.ID)
}

func checkKind(kind domain.DeadKind) error {
	if !slices.Contains(domain.DeadKinds, kind) {
		return domain.Invalidf("kind %q of a dead letter: want event, saga, work or effect", domain.PlainText(string(kind), 64))
	}
	return nil
}

// deadLetterObject is what the audit log calls a dead letter.
func deadLetterObject(kind domain.DeadKind, id string) string {
	return "deadletter:" + string(kind) + ":" + id
}

func deadLettersObject(p *api.ChooseDeadLettersParams) string {
	if p.ID == "" {
		return "deadletters"
	}
	return deadLetterObject(p.Kind, p.ID)
}

func checkDeadLetters(p *api.ChooseDeadLettersParams) error {
	filters := p.Saga != "" || p.Effect != "" || p.Cause != "" || p.BeforeMs != 0
	switch {
	case p.ID == "" && !p.All:
		return domain.Invalidf("which dead letters? want kind and id of one, or all: true with a filter")
	case p.ID != "" && (p.All || filters || p.Cursor != ""):
		return domain.Invalidf("id names one dead letter; a filter and all are for many")
	case p.ID != "":
		return checkKind(p.Kind)
	}
	return nil
}

// ReplayDeadLetters gives dead letters another chance.
func (c Caller) ReplayDeadLetters(ctx context.Context, p api.ChooseDeadLettersParams) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, domain.VerbRetry, p, Sagas.Replay)
}

// DropDeadLetters forgets dead letters.
func (c Caller) DropDeadLetters(ctx context.Context, p api.ChooseDeadLettersParams) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, domain.VerbDelete, p, Sagas.Drop)
}

// onDeadLetters settles one dead letter or, in the older form of the operations for many, as many of
// those that a filter fits as one call deals with: they are found as those operations find
// them, and each is settled as one that is named.
func (c Caller) onDeadLetters(ctx context.Context, verb domain.Verb, p api.ChooseDeadLettersParams,
	do func(Sagas, context.Context, domain.TenantID, domain.DeadKind, string) error) (out api.DeadLettersDone, err error) {
	if _, err := c.may(ctx, verb, p.Context, deadLettersObject(&p)); err != nil {
		return out, err
	}
	engine, err := c.sagas()
	if err != nil {
		return out, err
	}
	if err := checkDeadLetters(&p); err != nil {
		return out, err
	}
	if p.ID != "" {
		out.Count = 1
		if p.CountOnly {
			_, err := engine.DeadLetter(ctx, p.Context, p.Kind, p.ID)
			return out, err
		}
		out.Done = 1
		return out, do(engine, ctx, p.Context, p.Kind, p.ID)
	}
	filter := api.DeadLetterFilter{Kind: p.Kind, Saga: p.Saga, Effect: p.Effect, Cause: p.Cause, BeforeMs: p.BeforeMs}
	f, err := findDeadLetters(ctx, c, engine, api.ListDeadLettersParams{Context: p.Context, DeadLetterFilter: filter},
		wanted[*domain.DeadLetter]{cursor: p.Cursor, limit: lettersAtOnce})
	if err != nil {
		return out, err
	}
	out.Count, out.Next = len(f.list), f.next
	if p.CountOnly {
		return out, nil
	}
	for _, d := range f.list {
		err := do(engine, ctx, p.Context, d.Kind, d.ID)
		switch f, _ := api.FailureOf(err); {
		case err == nil:
			out.Done++
		case f.Word == "unavailable":
			return out, err // the others would fail too
		default:
			out.Failed = append(out.Failed, api.FailedDeadLetter{Kind: d.Kind, ID: d.ID, Error: c.api.itemProblem(ctx, err)})
		}
	}
	return out, nil
}
