package resp

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for tasks of circles.

// takeTask drops tasks of a circle that have ended, that one of our workers has, or
// that are a stranger's. One that is not written yet, as some programs push them, is
// handed out: nobody knows whose it is.
func takeTask(x *call, list, item string) (keep bool, err error) {
	key := board.Named(list, item)
	if key == "" {
		return true, nil
	}
	l, err := x.s.as(key, board.KindRecord)
	if err == nil {
		err = x.s.load(l, layout.TaskLine...)
	}
	if err == errWrongType {
		return true, nil
	} else if err != nil {
		return false, err
	}
	var rec board.Record
	for _, name := range layout.TaskLine {
		rec = append(rec, board.Field{Name: name, Value: l.get(name)})
	}
	id, _ := layout.ParseTask(key) // a circle's list has nothing else: see board.Named
	t := layout.DecodeTask(id, rec)
	if t.Final() || t.LeaseOwner != "" {
		return false, nil
	}
	why, err := x.strangersTask(l, t)
	if err != nil {
		return false, err
	}
	x.s.pin(l, board.FieldOwner)
	if why != "" {
		return false, x.endTask(l, t, why)
	}
	return true, nil
}

// strangersTask says why nobody may do a task, as our own workers find; "" is that
// somebody may.
func (x *call) strangersTask(l *leaf, t *domain.Task) (why string, err error) {
	switch {
	case l.record.read < 0:
		return "", nil
	case t.CallerID == 0 && x.c.door.cfg.NamedCallers:
		return "it names no caller: this node wants caller_id on each task (circle_callers)", nil
	case t.CallerID == 0:
		return "", nil
	}
	in, err := x.c.tenant(x.s.now, x.s.space())
	if err != nil || identity.Permit(in, t.CallerID, domain.VerbCreate, false) {
		return "", err
	}
	return fmt.Sprintf("its caller, actor %d, may not create work in context %d; see `ramet context grant`", t.CallerID, x.s.space()), nil
}

// endTask ends a task with an error, and tells its client, as our own workers do.
// The audit lets its record expire.
func (x *call) endTask(l *leaf, t *domain.Task, why string) error {
	t.Status, t.Error = domain.TaskError, why
	x.s.pin(l, layout.TaskStatus)
	x.s.put(l, board.Field{Name: layout.TaskStatus, Value: string(t.Status)}, board.Field{Name: layout.TaskError, Value: why},
		board.Field{Name: layout.TaskUpdatedAt, Value: strconv.FormatInt(x.s.now.Unix(), 10)})
	if !layout.IsReply(t.ReplyToQueue) {
		return nil
	}
	reply, err := x.s.listOf(t.ReplyToQueue)
	if err == errWrongType {
		return nil // nobody waits there for a reply
	}
	if err == nil {
		_, err = x.s.length(reply)
	}
	if err != nil {
		return err
	}
	x.s.push(reply, true, layout.EncodeReply(t))
	x.s.expireAt(reply, x.s.now.Add(cmp.Or(x.c.door.cfg.ReplyExpiry, 5*time.Minute)))
	return nil
}

// putTask leaves alone what one of our workers holds, and has tasks written in
// one's own name. Who does not say whose it is gives it to the worker.
func putTask(x *call, c *change) error {
	if caller, there := c.text("caller_id"); there && caller != strconv.FormatUint(uint64(x.c.who.Actor), 10) && x.c.who.Actor != domain.Operator {
		return domain.Forbiddenf("%s: caller_id %.20q is not you: tasks are written in one's own name; write %d, or leave it out", c.l.key, caller, x.c.who.Actor)
	}
	if err := x.s.load(c.l, board.FieldOwner, layout.TaskScript); err != nil {
		return err
	}
	// A worker that holds a task without a script waits for it: some clients
	// push the id first.
	_, brings := c.text(layout.TaskScript)
	if owner := c.l.get(board.FieldOwner); owner != "" && (c.l.get(layout.TaskScript) != "" || !brings) {
		return domain.Conflictf("%s is held by %s under a lease, and is its to write", c.l.key, owner)
	}
	x.s.pin(c.l, board.FieldOwner)
	x.s.pin(c.l, layout.TaskScript)
	return nil
}

// dropTask leaves those alone that one of our workers holds.
func dropTask(x *call, l *leaf) error {
	return putTask(x, &change{l: l})
}
