package saga

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// timerSetBy is the field of a timer's record with the version of the instance
// that set it: one that is set again for the same instant is another one.
const timerSetBy = "set_by"

// timerAgain is the field of one that was taken for lost and is set again: the version of the
// instance then. Its first event may have come, and been marked, to no effect.
const timerAgain = "again"

// ringWithin bounds the publishing of a timer's event: another timer waits for the
// handler.
const ringWithin = 5 * time.Second

// HandleAlarm makes a timer that has come into an event for its instance. The
// event is on its stream before the alarm is cleared, and has one id however
// often that is tried.
//
// Errors: [domain.ErrUnavailable] and what is not known: the alarm stays, to
// be handled again.
func (e *Engine) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	record, ours := layout.ParseTimerAlarm(a.Name)
	if !ours {
		return false, nil
	}
	recs, err := e.board.Get(ctx, a.Space, record)
	if err != nil {
		return true, err
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	if recs[0] != nil {
		// Not one that was set since for the same instant.
		b.Equal(record, timerSetBy, recs[0].Get(timerSetBy))
		if err := e.ring(ctx, domain.TenantID(a.Space), record, recs[0]); err != nil {
			return true, err
		}
		b.Delete(record)
	}
	if err := e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
		return true, err
	}
	return true, nil // it was cleared or moved meanwhile
}

// ring publishes the event of a timer.
func (e *Engine) ring(ctx context.Context, tenant domain.TenantID, key string, rec board.Record) error {
	var t domain.SagaTimer
	saga, correlation := rec.Get(layout.TimerSaga), rec.Get(layout.TimerOf)
	if err := json.Unmarshal([]byte(rec.Get(layout.TimerPayload)), &t); err != nil || saga == "" || correlation == "" {
		e.text.Warn("a timer cannot be read", "context", uint32(tenant), "key", key)
		return nil
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if errors.Is(err, domain.ErrNotFound) {
		return nil // its context is gone
	}
	if err != nil {
		return err
	}
	id := t.ID
	if again := rec.Get(timerAgain); id != "" && again != "" {
		id = identity("timer", id, again)
	} else if id == "" {
		id = identity("timer", name, saga, correlation, t.Event, strconv.FormatInt(t.DueMs, 10), rec.Get(timerSetBy))
	}
	ev := &domain.Event{ID: id, Type: t.Event, Saga: saga, Correlation: correlation, Timer: t.DueMs, TimeMs: t.DueMs, Payload: t.Payload}
	telling, cancel := context.WithTimeout(ctx, ringWithin)
	defer cancel()
	err = e.tell(telling, name, ev)
	if errors.Is(err, domain.ErrInvalid) {
		e.text.Error("a timer cannot be told to its instance, and is given up", "context", uint32(tenant), "key", key, "err", err)
		return nil // it would be the same each time
	}
	return err
}

// tell sends an event of our own to one instance.
func (e *Engine) tell(ctx context.Context, tenant string, ev *domain.Event) error {
	return e.log.Publish(ctx, own(tenant, ev))
}
