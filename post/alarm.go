package post

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// HandleAlarm does what an alarm of a message asks for. It reports whether the
// alarm is one of ours.
func (e *Engine) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	kind, key, ok := layout.ParseMessageAlarm(a.Name)
	if !ok {
		return false, nil
	}
	switch kind {
	case layout.AlarmPush:
		err = e.queueFor(ctx, a, key, queue.PostPush, key.String())
	case layout.AlarmNotes:
		err = e.noteLater(ctx, a, key)
	case layout.AlarmLate:
		err = e.late(ctx, a, key)
	default:
		return false, nil
	}
	return true, unlessConflict(err)
}

// queueFor lets a supervisor look at a message again: which node handles alarms
// says nothing of which has the bus.
func (e *Engine) queueFor(ctx context.Context, a board.Alarm, key domain.MessageKey, list, item string) error {
	m, rec, err := e.loadLine(ctx, a.Space, key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	if err == nil && !m.Final() && (m.Status == domain.MessageDispatched || list == queue.PostLogs) {
		b.Equal(key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
		b.PushLeft(list, item)
	}
	return e.board.Commit(ctx, b)
}

// noteLater lets a supervisor send what the jobs of a received message have said. As
// long as they say nothing, which is so while they wait for their turn, the alarm
// moves, and that is all.
func (e *Engine) noteLater(ctx context.Context, a board.Alarm, key domain.MessageKey) error {
	quiet, err := e.quiet(ctx, a.Space, key)
	if err != nil {
		return err
	} else if !quiet {
		return e.queueFor(ctx, a, key, queue.PostLogs, layout.Notes(key))
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).SetAlarm(a.Name, e.board.Now().Add(quietNote))
	return e.board.Commit(ctx, b)
}

// quiet reports whether a received message waits for its jobs, and they have said
// nothing that is not sent yet.
func (e *Engine) quiet(ctx context.Context, in board.Space, key domain.MessageKey) (bool, error) {
	recs, err := board.Readable(e.board.Get(ctx, in, layout.Notes(key)))
	if err != nil {
		return false, err
	}
	of, err := board.Listed(ctx, e.board, in, []string{layout.MessageStatus, layout.MessageMade}, []string{key.String()})
	if err != nil || of[0] == nil || domain.MessageStatus(of[0].Get(layout.MessageStatus)).Final() {
		return false, err
	}
	made, _ := layout.MadeOf(of[0])
	var lists []string
	var sent []int
	for _, d := range made {
		if d.Ours != 0 && d.Error == "" {
			n, _ := strconv.Atoi(recs[0].Get(notedField(d.Ours)))
			lists, sent = append(lists, layout.Logs(domain.JobKey{Caller: key.Caller, ID: d.Ours})), append(sent, n)
		}
	}
	if len(lists) == 0 {
		return true, nil
	}
	lengths, err := e.board.Len(ctx, in, lists...)
	if err != nil {
		return false, err
	}
	for i, n := range lengths {
		if n > sent[i] {
			return false, nil
		}
	}
	return true, nil
}

// late ends a message whose time has run out, and names the stage.
//
// Source: seed 002, "timeout", "timeout_ack", "timeout_result".
func (e *Engine) late(ctx context.Context, a board.Alarm, key domain.MessageKey) error {
	m, rec, err := e.load(ctx, a.Space, key)
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At)
	if err == nil && rec.Get(layout.MessageEnding) != "" {
		return e.endAgain(ctx, b, m)
	}
	b.ClearAlarm(a.Name)
	if errors.Is(err, domain.ErrNotFound) || err == nil && (m.Final() || m.Origin != "") {
		return e.board.Commit(ctx, b)
	} else if err != nil {
		return err
	}
	stage, what := domain.StageDelivery, "no bus took it"
	switch {
	case m.Status == domain.MessageAcknowledged:
		stage, what = domain.StageResult, "no result came"
	case m.SentMs != 0:
		stage, what = domain.StageAck, "nobody acknowledged it"
	}
	b.Equal(key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
	text := fmt.Sprintf("%s within %v (time-out of the stage %s)", what, m.TimeoutOf(stage), stage)
	return e.end(ctx, &b, ended{m: m, key: key, status: domain.MessageError, stage: stage, text: text, now: e.board.Now()})
}

// RecoverLease puts back what a dead supervisor had. It reports whether the
// lease is on one of our items.
func (e *Engine) RecoverLease(ctx context.Context, l board.Lease) (ours bool, err error) {
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item)
	if key, ok := layout.ParseNotes(l.Item); ok {
		b.SetAlarm(layout.MessageAlarm(layout.AlarmNotes, key), e.board.Now())
		return true, unlessConflict(e.board.Commit(ctx, b))
	}
	key, err := domain.ParseMessageKey(l.Item)
	if err != nil || key.String() != l.Item {
		return false, nil
	}
	m, rec, err := e.load(ctx, l.Space, key)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return true, err
	}
	if err == nil && !m.Final() {
		b.PushRight(queueOf(m, rec), l.Item)
	}
	return true, unlessConflict(e.board.Commit(ctx, b))
}

// queueOf is where an unfinished message goes that nobody has any more: all
// that is done with it can be done again.
func queueOf(m *domain.Message, rec board.Record) string {
	_, decided := layout.MadeOf(rec)
	switch {
	case m.Origin == "" && m.Pushes == 0 && m.Status != domain.MessageAcknowledged:
		return queue.MsgOut
	case m.Origin == "":
		return queue.PostPush
	case decided && rec.Get(layout.MessageOpen) == "0":
		return queue.PostResult
	}
	return queue.MsgIn
}
