package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for tasks of circles.

var (
	takeTask = &Rule{needs: always(layout.TaskLine...), decide: decideTakeTask}
	putTask  = &Rule{needs: always(board.FieldOwner, layout.TaskScript), decide: decidePutTask}
)

// decideTakeTask drops tasks of a circle that have ended, that one of our workers
// has, or that are a stranger's. One that is not written yet, as some programs push
// them, is handed out: nobody knows whose it is.
func decideTakeTask(q *Request, c *Change, seen Seen) (Outcome, error) {
	var rec board.Record
	for _, name := range layout.TaskLine {
		rec = append(rec, board.Field{Name: name, Value: seen.get(name)})
	}
	id, _ := layout.ParseTask(c.Key) // a circle's list has nothing else: see board.Named
	t := layout.DecodeTask(id, rec)
	if t.Final() || t.LeaseOwner != "" {
		return Outcome{Drop: true}, nil
	}
	why, err := q.strangersTask(t, seen.There)
	if err != nil {
		return Outcome{}, err
	}
	if why != "" {
		return q.endTask(t, why), nil
	}
	return Outcome{Guards: []string{board.FieldOwner}}, nil
}

// strangersTask says why nobody may do a task, as our own workers find; "" is that
// somebody may.
func (q *Request) strangersTask(t *domain.Task, there bool) (why string, err error) {
	switch {
	case !there:
		return "", nil
	case t.CallerID == 0 && q.NamedCallers:
		return "it names no caller: this node wants caller_id on each task (circle_callers)", nil
	case t.CallerID == 0:
		return "", nil
	}
	in, err := q.Tenant()
	if err != nil || identity.Permit(in, t.CallerID, domain.VerbCreate, false) {
		return "", err
	}
	return fmt.Sprintf("its caller, actor %d, may not create work in context %d; see `ramet context grant`", t.CallerID, q.Space), nil
}

// endTask ends a task with an error, and tells its client, as our own workers do.
// The audit lets its record expire.
func (q *Request) endTask(t *domain.Task, why string) Outcome {
	t.Status, t.Error = domain.TaskError, why
	out := Outcome{Drop: true, Guards: []string{board.FieldOwner, layout.TaskStatus}, Set: []board.Field{
		{Name: layout.TaskStatus, Value: string(t.Status)}, {Name: layout.TaskError, Value: why},
		{Name: layout.TaskUpdatedAt, Value: strconv.FormatInt(q.Now.Unix(), 10)}}}
	if layout.IsReply(t.ReplyToQueue) {
		out.Reply = &Reply{List: t.ReplyToQueue, Item: layout.EncodeReply(t), Expires: q.Now.Add(cmp.Or(q.ReplyExpiry, 5*time.Minute))}
	}
	return out
}

// decidePutTask leaves alone what one of our workers holds, and has tasks written
// in one's own name. Who does not say whose it is gives it to the worker.
func decidePutTask(q *Request, c *Change, seen Seen) (Outcome, error) {
	if caller, there := c.text("caller_id"); there && caller != strconv.FormatUint(uint64(q.Who), 10) && q.Who != domain.Operator {
		return Outcome{}, domain.Forbiddenf("%s: caller_id %.20q is not you: tasks are written in one's own name; write %d, or leave it out",
			c.Key, caller, q.Who)
	}
	// A worker that holds a task without a script waits for it: some clients push
	// the id first.
	brings := slices.ContainsFunc(c.Set, func(f board.Field) bool { return f.Name == layout.TaskScript })
	if owner := seen.get(board.FieldOwner); owner != "" && (seen.get(layout.TaskScript) != "" || !brings) {
		return Outcome{}, domain.Conflictf("%s is held by %s under a lease, and is its to write", c.Key, owner)
	}
	return Outcome{Guards: []string{board.FieldOwner, layout.TaskScript}}, nil
}
