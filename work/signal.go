package work

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
)

// signalPage is how many signals are read at once.
const signalPage = 32

// Signal tells a job something that its script waits for, or will wait for: it is kept
// until then. A script that was suspended for it goes on.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] for a job that has ended, or runs in
// another context; [domain.ErrLimit] where too many wait; [domain.ErrInvalid].
func (e *Engine) Signal(ctx context.Context, tenant domain.TenantID, key domain.JobKey, s domain.Signal) (*domain.Job, error) {
	if len(s.Payload) == 0 {
		s.Payload = json.RawMessage("null")
	}
	if err := durable.CheckName("signal", s.Name); err != nil {
		return nil, err
	}
	if len(s.Payload) > durable.MaxAnswer {
		return nil, domain.Limitf("signal %q: the payload has %d bytes, the limit is %d", s.Name, len(s.Payload), durable.MaxAnswer)
	}
	now := e.board.Now()
	s.AtMs = now.UnixMilli()
	space := layout.SpaceOf(tenant)
	for range unheldTries {
		j, rec, err := e.load(ctx, space, key)
		if err != nil && (j == nil || !errors.Is(err, domain.ErrInvalid)) {
			return nil, err
		}
		sent, _ := board.Number(rec.Get(layout.JobSignalSent))
		s.N = sent + 1
		item, err := encodeSignal(s)
		if err == nil {
			err = signalled(j, rec, len(item))
		}
		if err != nil {
			return nil, err
		}
		b := board.Batch{Space: space}
		b.Equal(key.String(), layout.JobStatus, string(j.Status)).Equal(key.String(), layout.JobLeaseOwner, j.LeaseOwner)
		b.Equal(key.String(), layout.JobSignalSent, rec.Get(layout.JobSignalSent))
		asRead(&b, j, layout.JobAttempt, layout.JobNextRetryMs)
		b.PushRight(layout.Signals(key), item)
		b.Add(key.String(), layout.JobSignals, 1).Add(key.String(), layout.JobSignalSent, 1).Add(key.String(), layout.JobSignalBytes, int64(len(item)))
		if j.Suspended != nil && j.LeaseOwner == "" && j.NextRetryMs != 0 && slices.Contains(j.Suspended.Signals, s.Name) {
			b.ClearAlarm(layout.Alarm(layout.AlarmRetry, key))
			e.requeue(&b, j, now)
		}
		if err := e.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			continue
		} else if err != nil {
			return nil, err
		}
		return e.loadAny(ctx, space, key)
	}
	return nil, domain.Unavailablef("job %q changes too quickly; send the signal again", key)
}

// signalled says why a job takes no signal of a size.
func signalled(j *domain.Job, rec board.Record, size int) error {
	switch bytes, _ := board.Number(rec.Get(layout.JobSignalBytes)); {
	case j.Final():
		return domain.Conflictf("job %q has ended (%s): nobody would ever hear the signal", j.Key(), j.Status)
	case j.At != "":
		return domain.Conflictf("job %q runs at %s: signal it there", j.Key(), j.At)
	case j.Signals >= durable.MaxSignals:
		return domain.Limitf("%d signals wait for job %q, which is the limit: its script does not wait for them", j.Signals, j.Key())
	case bytes+int64(size) > durable.MaxSignalBytes:
		return domain.Limitf("the signals that wait for job %q would have more than %d bytes", j.Key(), durable.MaxSignalBytes)
	}
	return nil
}

func encodeSignal(s domain.Signal) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // six bytes for one would not fit where one does
	if err := enc.Encode(s); err != nil || b.Len() > board.MaxField {
		return "", domain.Invalidf("signal %q: the payload of %d bytes is no JSON that can be kept (%v)", s.Name, len(s.Payload), err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// signalsOf are all that wait for a job, as they lie on its list: what cannot be read as
// a signal has no name.
func (e *Engine) signalsOf(ctx context.Context, space board.Space, key domain.JobKey) (items []string, signals []domain.Signal, err error) {
	for {
		page, err := e.board.List(ctx, space, layout.Signals(key), len(items), signalPage)
		if err != nil {
			return nil, nil, err
		}
		for _, item := range page {
			var s domain.Signal
			if json.Unmarshal([]byte(item), &s) != nil {
				s = domain.Signal{}
			}
			items, signals = append(items, item), append(signals, s)
		}
		if len(page) < signalPage {
			return items, signals, nil
		}
	}
}

// SignalsOf are the signals that wait for a job, oldest first, without payloads.
func (e *Engine) SignalsOf(ctx context.Context, tenant domain.TenantID, key domain.JobKey) ([]domain.Signal, error) {
	_, list, err := e.signalsOf(ctx, layout.SpaceOf(tenant), key)
	for i := range list {
		list[i].Payload = nil
	}
	slices.SortFunc(list, func(a, b domain.Signal) int { return cmp.Compare(a.N, b.N) })
	return list, err
}

// turnBytes is about how much of a list is put to its other end at once.
const turnBytes = 256 << 10

// Take takes the oldest signal of a name and writes what came of it. Items of a list can be
// taken from its ends alone where the context is encrypted: so the list is turned until
// the one that is wanted comes first, in commits that only the holder of the lease can
// make, and that count the turns: a commit whose answer was lost does no harm later.
func (h *steps) Take(ctx context.Context, length int, signal string, item func(json.RawMessage) (string, error)) (bool, error) {
	e, space := h.x.r.e, h.x.Claimed.Space
	for {
		recs, err := e.board.GetFields(ctx, space, []string{layout.JobSignals, layout.JobSignalTurns}, h.x.Claimed.Item)
		if err != nil {
			return false, err
		}
		if n := recs[0].Get(layout.JobSignals); n == "" || n == "0" {
			return false, nil
		}
		items, signals, err := e.signalsOf(ctx, space, h.x.key)
		if err != nil {
			return false, err
		}
		at := -1
		for i, s := range signals {
			if s.Name == signal && (at < 0 || s.N < signals[at].N) {
				at = i
			}
		}
		if at < 0 {
			return false, nil
		}
		list := layout.Signals(h.x.key)
		b := h.x.heldBatch()
		b.Equal(h.x.Claimed.Item, layout.JobSignalTurns, recs[0].Get(layout.JobSignalTurns)).Add(h.x.Claimed.Item, layout.JobSignalTurns, 1)
		if at == 0 {
			text, err := item(signals[0].Payload)
			if err != nil {
				return false, err
			}
			if err := h.add(&b, length, text); err != nil {
				return false, err
			}
			b.TrimLeft(list, 1)
			b.Add(h.x.Claimed.Item, layout.JobSignals, -1).Add(h.x.Claimed.Item, layout.JobSignalBytes, -int64(len(items[0])))
			return true, h.commit(ctx, b)
		}
		n, bytes := 0, 0
		for n < at && bytes < turnBytes {
			bytes += len(items[n])
			n++
		}
		b.TrimLeft(list, n).PushRight(list, items[:n]...)
		if err := h.commit(ctx, b); err != nil {
			return false, err
		}
	}
}
