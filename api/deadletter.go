package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/saga"
)

// DeadLetterList is a page of dead letters, in no order, without what they were.
//
//	GET /v1/contexts/{context}/deadletters?kind=&saga=&effect=&cause=&before_ms=&cursor=&limit=
//	GET /v1/contexts/{context}/deadletters/{kind}/{id}   domain.DeadLetter
type DeadLetterList struct {
	DeadLetters domain.List[*domain.DeadLetter] `json:"deadletters"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
}

// DeadLetterChoice says which dead letters are meant: one by kind and id, or
// with all set, those that fit the filter.
//
//	POST /v1/contexts/{context}/deadletters/replay   DeadLetterChoice -> DeadLettersDone
//	POST /v1/contexts/{context}/deadletters/drop     DeadLetterChoice -> DeadLettersDone
type DeadLetterChoice struct {
	Kind   domain.DeadKind `json:"kind,omitzero"`
	ID     string          `json:"id,omitzero"`
	Saga   string          `json:"saga,omitzero"`
	Effect string          `json:"effect,omitzero"`
	// Cause is a part of the sentence that says why.
	Cause string `json:"cause,omitzero"`
	// BeforeMs is when they are younger than that, in Unix milliseconds.
	BeforeMs int64 `json:"before_ms,omitzero"`
	// All must be set where no id is given.
	All bool `json:"all,omitzero"`
	// CountOnly does nothing but count.
	CountOnly bool `json:"count_only,omitzero"`
	// Cursor is the next of the answer before.
	Cursor string `json:"cursor,omitzero"`
}

// DeadLettersDone answers. A filter may fit more than one call deals with: then
// Next is the cursor to go on with.
type DeadLettersDone struct {
	// Count is how many letters this call found, and Done how many of them it
	// dealt with.
	Count  int                       `json:"count"`
	Done   int                       `json:"done"`
	Failed domain.List[FailedLetter] `json:"failed,omitzero"`
	Next   string                    `json:"next,omitzero"`
}

// FailedLetter is one that could not be dealt with.
type FailedLetter struct {
	Kind  domain.DeadKind `json:"kind"`
	ID    string          `json:"id"`
	Error Problem         `json:"error"`
}

// How many dead letters a page has, and how many one call deals with.
const (
	listLetters   = 100
	mostLetters   = 500
	lettersAtOnce = 500
)

// ListDeadLettersParams are those of deadletter.list. Empty filters do not
// filter.
type ListDeadLettersParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Kind    domain.DeadKind `json:"-" query:"kind"`
	Saga    string          `json:"-" query:"saga"`
	Effect  string          `json:"-" query:"effect"`
	Cause   string          `json:"-" query:"cause"` // a part of the sentence
	// BeforeMs leaves out those that are younger, in Unix milliseconds.
	BeforeMs int64  `json:"-" query:"before_ms"`
	Cursor   string `json:"-" query:"cursor"`
	// Limit is about how many a page has, up to 500. 0: 100.
	Limit int `json:"-" query:"limit"`
}

// ListDeadLetters lists a page.
func (c Caller) ListDeadLetters(ctx context.Context, p ListDeadLettersParams) (DeadLetterList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "deadletters"); err != nil {
		return DeadLetterList{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return DeadLetterList{}, err
	}
	if p.Limit < 0 || p.Limit > mostLetters {
		return DeadLetterList{}, domain.Invalidf("limit %d: want 1 to %d, or 0 for %d", p.Limit, mostLetters, listLetters)
	}
	q := saga.DeadQuery{Kind: p.Kind, Saga: p.Saga, Effect: p.Effect, Cause: p.Cause, Before: instant(p.BeforeMs),
		Limit: cmp.Or(p.Limit, listLetters), Cursor: p.Cursor}
	list, next, err := engine.DeadLetters(ctx, p.Context, q)
	if err != nil {
		return DeadLetterList{}, err
	}
	for _, d := range list {
		d.Event, d.Work, d.Data = nil, nil, ""
	}
	return DeadLetterList{list, next}, nil
}

// instant is a time in Unix milliseconds; 0 is none.
func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// DeadLetterParams name a dead letter.
type DeadLetterParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Kind    domain.DeadKind `json:"-" path:"kind"`
	ID      string          `json:"-" path:"id"`
}

// ShowDeadLetter reads one with what it was.
func (c Caller) ShowDeadLetter(ctx context.Context, p DeadLetterParams) (*domain.DeadLetter, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, letterObject(p.Kind, p.ID)); err != nil {
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

// letterObject is what the audit log calls a dead letter.
func letterObject(kind domain.DeadKind, id string) string {
	return "deadletter:" + string(kind) + ":" + id
}

// ChooseLettersParams are those of deadletter.replay and deadletter.drop.
type ChooseLettersParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	DeadLetterChoice
}

func (p *ChooseLettersParams) object() string {
	if p.ID == "" {
		return "deadletters"
	}
	return letterObject(p.Kind, p.ID)
}

func (p *ChooseLettersParams) check() error {
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

// ReplayLetters gives dead letters another chance.
func (c Caller) ReplayLetters(ctx context.Context, p ChooseLettersParams) (DeadLettersDone, error) {
	return c.onLetters(ctx, identity.Retry, p, Sagas.Replay)
}

// DropLetters forgets dead letters.
func (c Caller) DropLetters(ctx context.Context, p ChooseLettersParams) (DeadLettersDone, error) {
	return c.onLetters(ctx, identity.Delete, p, Sagas.Drop)
}

func (c Caller) onLetters(ctx context.Context, verb identity.Verb, p ChooseLettersParams,
	do func(Sagas, context.Context, domain.TenantID, domain.DeadKind, string) error) (out DeadLettersDone, err error) {
	if _, err := c.may(ctx, verb, p.Context, p.object()); err != nil {
		return out, err
	}
	engine, err := c.sagas()
	if err != nil {
		return out, err
	}
	if err := p.check(); err != nil {
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
	q := saga.DeadQuery{Kind: p.Kind, Saga: p.Saga, Effect: p.Effect, Cause: p.Cause, Before: instant(p.BeforeMs), Limit: lettersAtOnce, Cursor: p.Cursor}
	list, next, err := engine.DeadLetters(ctx, p.Context, q)
	if err != nil {
		return out, err
	}
	out.Count, out.Next = len(list), next
	if p.CountOnly {
		return out, nil
	}
	for _, d := range list {
		err := do(engine, ctx, p.Context, d.Kind, d.ID)
		switch f, _ := FailureOf(err); {
		case err == nil:
			out.Done++
		case f.Word == "unavailable":
			return out, err // the others would fail too
		default:
			out.Failed = append(out.Failed, FailedLetter{d.Kind, d.ID, c.api.ProblemOf(ctx, err)})
		}
	}
	return out, nil
}
