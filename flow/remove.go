package flow

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file removes flows by request.

// archiveAgain is when a flow is looked at again that the archive must have first.
const archiveAgain = 2 * time.Second

// remove removes a flow that has ended, by request: its record goes to the archive
// before it goes from the board, with its jobs. Its name stays taken there, unless
// forget frees it. Without an archive nothing is known of the name any more.
func (t *tending) remove(ctx context.Context, s *seen, forget bool) error {
	err := t.leaveTrace(ctx, s, forget)
	if errors.Is(err, domain.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return t.removeLater(ctx, err)
	} else if err != nil {
		return err
	}
	keys, split := s.jobs(), false
	if s.stepped {
		whole, _, err := t.readState(ctx, t.ref)
		if err != nil {
			return err
		}
		for i := range whole.Steps {
			st := &whole.Steps[i]
			split = split || st.Split != nil && st.Job == 0 && !st.Split.Flows
		}
		for _, id := range jobsOf(len(whole.Steps), func(i int) *StepState { return &whole.Steps[i] }) {
			keys = append(keys, domain.JobKey{Caller: s.caller, ID: id})
		}
	}
	if err := t.removeJobs(ctx, t.ref, keys); err != nil {
		return err
	}
	if split { // it has had units whose jobs its state does not name
		if err := t.removeUnits(ctx, s); err != nil {
			return err
		}
	}
	if err := t.deleteChildren(ctx, s, forget); err != nil {
		return err
	}
	if err := t.removeLists(ctx, t.ref, s.lists, t.batch().Guards...); err != nil {
		return err
	}
	if err := t.work.DropArtifacts(ctx, t.tenant(), t.ref.id); err != nil {
		return err
	}
	b := t.batch()
	if err := t.leaveName(ctx, &b, s, forget); err != nil {
		return err
	}
	if err := t.leaveAlive(ctx, &b, s); s.flow.Blueprint != "" && err != nil {
		return err
	}
	t.retell(&b, s, domain.FlowCancelled, "it was deleted")
	b.Release(t.claimed.Item)
	t.removeRecords(&b, t.ref, s.records, s.parts)
	if err := t.board.Commit(ctx, b); err != nil {
		return err
	}
	return errDone
}

// removeLater lets go of a flow that the archive does not have yet.
func (t *tending) removeLater(ctx context.Context, cause error) error {
	t.log.Debug("flow not removed yet: the archive must have it first", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", cause)
	b := t.batch()
	b.SetAlarm(layout.FlowAlarm(layout.AlarmFlow, t.ref.id), t.board.Now().Add(archiveAgain))
	b.Set(layout.FlowWaits(t.ref.id), board.Field{Name: layout.WaitsArmed, Value: "1"})
	b.Release(t.claimed.Item)
	if err := t.board.Commit(ctx, b); err != nil {
		return err
	}
	return errDone
}

// leaveTrace sees to it that the archive has the flow as it ended.
func (t *tending) leaveTrace(ctx context.Context, s *seen, forget bool) error {
	if t.cfg.Records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, archiveWithin)
	defer cancel()
	r, ok, err := t.Record(ctx, t.tenant(), t.ref.id)
	if err == nil && ok {
		err = t.cfg.Records.Put(ctx, []archive.Record{r})
	}
	if errors.Is(err, domain.ErrInvalid) { // as the archiver does
		t.log.Error("the archive refused a flow that is deleted: nothing is left of it", "flow", uint32(t.ref.id), "context", uint32(t.ref.space), "err", err)
		err = nil
	}
	if err == nil && forget {
		err = t.forget(ctx, r)
	}
	return err
}

// forget frees the name of an archived flow.
func (e *Engine) forget(ctx context.Context, r archive.Record) error {
	name, ok := r.Name()
	if !ok {
		return nil
	}
	return e.cfg.Records.Release(ctx, name, r.Key)
}

// forgetArchived frees the name of a flow that only the archive still has.
//
// Errors: [domain.ErrNotFound] where it has none.
func (e *Engine) forgetArchived(ctx context.Context, p ref) error {
	r, err := e.archived(ctx, p)
	if err != nil {
		return err
	}
	name, ok := r.Name()
	if !ok {
		return nil
	}
	if err := e.forget(ctx, r); err != nil {
		return err
	}
	b := board.Batch{Space: p.space}
	key := layout.FlowName(name.Blueprint, name.Trigger)
	mine, err := e.nameOf(ctx, p, key)
	if err != nil || mine == "" {
		return err
	}
	b.Equal(key, layout.FlowNameID, mine).Delete(key)
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		err = nil // it went by itself
	}
	return err
}

// nameOf is what the board's record of a name says where the name is the flow's,
// else "".
func (e *Engine) nameOf(ctx context.Context, p ref, name string) (string, error) {
	recs, err := e.board.Get(ctx, p.space, name)
	if err != nil {
		return "", err
	}
	mine := recs[0].Get(layout.FlowNameID)
	if id, err := domain.ParseFlowKey(mine); err != nil || id != p.id {
		return "", nil
	}
	return mine, nil
}

// leaveName adds to b what becomes of the flow's name on the board: the archive has
// it, but for who asked there before that was so.
func (t *tending) leaveName(ctx context.Context, b *board.Batch, s *seen, forget bool) error {
	if s.flow.Trigger == "" || s.flow.Blueprint == "" {
		return nil
	}
	name := layout.FlowName(s.flow.Blueprint, s.flow.Trigger)
	mine, err := t.nameOf(ctx, t.ref, name)
	if err != nil || mine == "" {
		return err
	}
	b.Equal(name, layout.FlowNameID, mine)
	if forget || t.cfg.Names == nil {
		b.Delete(name)
	} else {
		b.Expire(name, nameFor)
	}
	return nil
}
