package effect

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Mark is what the board knows of a command: the gate that lets nothing be done
// again that was done.
//
//	(none) ──attempt failed──> trying ──┐
//	   └──────how it ended is known─────┴──> decided ──result published──> done
//
// A command that is decided is not tried again: its result is published as it
// stands, however often. A command that is done is not even that.
type Mark struct {
	Status MarkStatus
	// Attempts is how many were begun that the board was told of: the first is
	// told of when it has failed, later ones before. Those of a kind that only
	// waits are told of when they have failed.
	Attempts int
	// Result is the JSON of a [domain.EffectResult], once it is decided.
	Result string
	// Error is the last attempt's, and BeganMs the time of the first failure,
	// NextMs when the next attempt is due: Unix milliseconds.
	Error           string
	BeganMs, NextMs int64

	ends domain.ResultType // as Result has it; "": look there
}

// MarkStatus is how far a command is.
type MarkStatus string

// The statuses.
const (
	MarkTrying  MarkStatus = layout.DoneTrying
	MarkDecided MarkStatus = "decided"
	MarkDone    MarkStatus = "done"
)

// ended says that it is not tried any more.
func (m Mark) ended() bool { return m.Status == MarkDecided || m.Status == MarkDone }

// Fields of a mark beside those in layout.
const (
	markError = layout.DoneError
	markBegan = "began_ms"
	markNext  = layout.DoneNext
)

// decodeMark reads one. A record of another program that is there at all says
// that the effect was done: so the seed has it.
func decodeMark(r board.Record) Mark {
	if r == nil {
		return Mark{}
	}
	number := func(name string) int64 { n, _ := strconv.ParseInt(r.Get(name), 10, 64); return n }
	status := MarkStatus(r.Get(layout.DoneStatus))
	if status != MarkTrying && status != MarkDecided {
		status = MarkDone
	}
	return Mark{Status: status, Attempts: int(number(layout.DoneAttempts)), Result: r.Get(layout.DoneResult),
		Error: r.Get(markError), BeganMs: number(markBegan), NextMs: number(markNext)}
}

// put is the commit of a mark in place of one with this status. It goes after
// keep.
func (m Mark) put(space board.Space, key string, was MarkStatus, keep time.Duration) board.Batch {
	b := board.Batch{Space: space}
	b.Equal(key, layout.DoneStatus, string(was))
	fields := []board.Field{{Name: layout.DoneStatus, Value: string(m.Status)}, {Name: layout.DoneAttempts, Value: strconv.Itoa(m.Attempts)}}
	text := func(name, value string) {
		if value != "" {
			fields = append(fields, board.Field{Name: name, Value: value})
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			text(name, strconv.FormatInt(n, 10))
		}
	}
	text(layout.DoneResult, m.Result)
	text(markError, m.Error)
	number(markBegan, m.BeganMs)
	number(markNext, m.NextMs)
	b.Set(key, fields...).Expire(key, keep)
	return b
}

// finishMark is the commit that says that the result was published.
func finishMark(space board.Space, key string, keep time.Duration) board.Batch {
	b := board.Batch{Space: space}
	b.Equal(key, layout.DoneStatus, string(MarkDecided))
	b.Set(key, board.Field{Name: layout.DoneStatus, Value: string(MarkDone)}).Unset(key, markNext).Expire(key, keep)
	return b
}

// CommandMark is what the board knows of a command of a context; tenant is the
// context's name as its subjects have it.
//
// Errors: [domain.ErrNotFound] where no attempt is known of.
func CommandMark(ctx context.Context, b board.Board, id domain.TenantID, tenant, command string) (Mark, error) {
	recs, err := b.Get(ctx, layout.SpaceOf(id), layout.SagaKeys{Tenant: tenant}.Done(command))
	if err != nil {
		return Mark{}, err
	}
	if recs[0] == nil {
		return Mark{}, domain.NotFoundf("command %q: no attempt of it has ended yet, or it was long ago", domain.PlainText(command, 100))
	}
	return decodeMark(recs[0]), nil
}

// end is how it ended.
func (m Mark) end() domain.ResultType {
	if m.ends == "" {
		r, _ := m.Outcome()
		m.ends = r.ResultType
	}
	return m.ends
}

// Outcome is the result, once it is decided.
func (m Mark) Outcome() (r domain.EffectResult, ok bool) {
	return r, m.Result != "" && json.Unmarshal([]byte(m.Result), &r) == nil
}
