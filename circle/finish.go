package circle

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
)

// fate is what becomes of a task after a run.
type fate int

const (
	ended     fate = iota // its status says how
	givenBack             // to its circle, before what has not begun
	dropped               // it is no task
	lost                  // it is no longer ours: nothing is written
)

// ending is what a run ends with.
type ending struct {
	fate   fate
	status domain.TaskStatus
	text   string // the output, the error, or why
	// unwritten says that it has no script: its writer may be slow, rather than none.
	unwritten bool
}

// maxErrorText bounds what a record says of an error, in bytes.
const maxErrorText = 4 << 10

// failed is the end of a task that went wrong.
func failed(text string) ending {
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return ending{status: domain.TaskError, text: text}
}

// ends says what the run ends with, and so what that changes.
func (x *run) ends(n ending) {
	if x.what = n; n.fate == lost {
		return
	}
	item := x.Claimed.Item
	b := board.Batch{Space: x.Claimed.Space, Guards: make([]board.Guard, 0, 2), Ops: make([]board.Op, 0, 6)}
	b.Held(item, x.w.cfg.Owner, x.Claimed.Token).Release(item)
	if n.unwritten {
		b.Equal(item, layout.TaskScript, "")
	}
	switch n.fate {
	case givenBack:
		requeue(&b, x.task, x.claimer.list, x.w.e.board.Now())
	case dropped:
		// What the claim has written is taken back: that is all there is.
		b.Unset(item, layout.TaskStatus, layout.TaskUpdatedAt, layout.TaskAttempt, layout.TaskLosses)
	default:
		x.w.e.end(&b, x.task, n, x.w.e.board.Now())
	}
	x.batch = b
}

// requeue puts a task back where it goes first.
func requeue(b *board.Batch, t *domain.Task, list string, now time.Time) {
	b.Set(layout.Task(t.ID), statusField(domain.TaskPending), updatedField(now))
	b.PushRight(list, t.ID)
}

func statusField(s domain.TaskStatus) board.Field {
	return board.Field{Name: layout.TaskStatus, Value: string(s)}
}

func updatedField(now time.Time) board.Field {
	return board.Field{Name: layout.TaskUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)}
}

func lossesField(n int) board.Field {
	return board.Field{Name: layout.TaskLosses, Value: strconv.Itoa(n)}
}

// end adds to b all that the end of a task means. The caller adds guards that
// make it the only one.
func (e *Engine) end(b *board.Batch, t *domain.Task, n ending, now time.Time) {
	key := layout.Task(t.ID)
	word, stale := layout.TaskOutput, t.Error
	if n.status == domain.TaskError {
		word, stale = layout.TaskError, t.Output
	}
	b.Set(key, statusField(n.status), updatedField(now), board.Field{Name: word, Value: n.text})
	if stale != "" { // of an earlier life
		b.Unset(key, layout.StaleTaskFields(n.status)...)
	}
	b.Expire(key, e.cfg.Retention)
	if t.Circle != "" {
		b.Settle(key)
	}
	e.reply(b, t, n)
}

// reply tells the client. The list expires, in case nobody fetches it.
func (e *Engine) reply(b *board.Batch, t *domain.Task, n ending) {
	switch {
	case t.ReplyToQueue == "":
		return
	case !layout.IsReply(t.ReplyToQueue):
		e.log.Warn("no reply sent: the list is no client's own", "task", t.ID, "context", uint32(b.Space), "reply_to_queue", t.ReplyToQueue)
		return
	}
	told := domain.Task{ID: t.ID, Status: n.status, ClientRPCID: t.ClientRPCID}
	if n.status == domain.TaskCompleted {
		told.Output = n.text
	} else {
		told.Error = n.text
	}
	b.PushLeft(t.ReplyToQueue, layout.EncodeReply(&told)).Expire(t.ReplyToQueue, e.cfg.ReplyExpiry)
}

// End is what the run's end changes; only the holder of the lease can commit it.
func (x *run) End() board.Batch { return x.batch }

const (
	// againMin and againMax bound the pause between two tries.
	againMin = 100 * time.Millisecond
	againMax = 5 * time.Second
)

// Again tries until the end of the run is written or the lease is no longer ours.
func (x *run) Again(ctx context.Context, err error) error {
	unsure := false // an answer was lost
	for try := 0; err != nil && !lease.IsGone(err) && ctx.Err() == nil; try++ {
		switch {
		case errors.Is(err, domain.ErrConflict): // a script was written after all
			x.ends(ending{fate: givenBack, text: "written late"})
		case errors.Is(err, domain.ErrInvalid):
			x.refused(err)
		default:
			unsure = true
			pause.For(ctx, pause.Doubled(againMin, againMax, try))
			x.ends(x.what)
		}
		err = x.w.e.board.Commit(ctx, x.batch)
	}
	if unsure && lease.IsGone(err) && x.applied(ctx) {
		return nil
	}
	return err
}

// refused deals with an end that the board refuses for good. What cannot go back
// ends; what ends does so first without the reply, whose list may be something
// else, then without what the script gave.
func (x *run) refused(err error) {
	if x.what.fate == givenBack {
		x.ends(notBack(err))
		return
	}
	if x.task.ReplyToQueue != "" {
		x.w.log.Warn("no reply sent", "task", x.task.ID, "context", uint32(x.Claimed.Space), "reply_to_queue", x.task.ReplyToQueue, "err", err)
		x.task.ReplyToQueue = ""
		x.ends(x.what)
		return
	}
	n := failed("its end could not be written: " + err.Error())
	n.unwritten = x.what.unwritten
	x.ends(n)
}

// applied tells whether the commit whose answer was lost is what ended our
// lease.
func (x *run) applied(ctx context.Context) bool {
	t, err := x.w.e.Show(ctx, domain.TenantID(x.Claimed.Space), x.task.ID)
	return err == nil && t.Attempt == x.Claimed.Token && t.LeaseOwner == ""
}
