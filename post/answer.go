package post

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

// answer writes the answers to messages whose work has ended.
//
// Source: seed 000, "Message flow", step 7.
func (s *Supervisor) answer(ctx context.Context, claimed []board.Claimed) {
	rests := make([]rest, len(claimed))
	drafts, err := s.draftAnswers(ctx, claimed)
	if err != nil { // each is tried by itself
		drafts = make([]draft, len(claimed))
	}
	together(len(claimed), abreast, func(i int) {
		c := &claimed[i]
		b, err := s.answerOne(ctx, c, drafts[i])
		switch {
		case err == nil:
			rests[i] = rest{batch: b, ready: true}
		case errors.Is(err, errNothing):
			// If its last job ends just now, what that queues is passed over: the
			// message is leased.
			release(&b, c)
			if err := s.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
				s.answerLater(ctx, c)
			}
		default:
			s.log.Warn("message not answered; it comes again", "message", c.Item, "context", uint32(c.Space), "err", err)
			pause.For(ctx, lease.Rest)
			s.answerLater(ctx, c)
		}
	})
	s.commitRests(ctx, claimed, rests, func(c *board.Claimed, err error) {
		s.log.Debug("answer not written; it is tried again", "message", c.Item, "err", err)
		s.answerLater(ctx, c)
	})
}

// answerLater puts a message back whose answer could not be written.
func (s *Supervisor) answerLater(ctx context.Context, c *board.Claimed) {
	s.letGo(ctx, c, func(b *board.Batch) { b.PushLeft(queue.PostResult, c.Item) })
}

// errNothing says that nothing is to be done with a claimed item but to let it go.
// It is of no kind: a conflict would say that somebody else has the item.
var errNothing = errors.New("nothing to do")

// draft is what is found out for many answers at once: a number that is free, 0
// where none is known, and whether there is no mark of the log of the jobs.
type draft struct {
	id     domain.MessageID
	unread bool
}

// draftAnswers finds it out, with one look for each context.
func (s *Supervisor) draftAnswers(ctx context.Context, claimed []board.Claimed) ([]draft, error) {
	self, err := s.self(ctx)
	if err != nil {
		return nil, err
	}
	drafts := make([]draft, len(claimed))
	next, many := map[board.Space]int64{}, map[board.Space]int{}
	for i := range claimed {
		many[claimed[i].Space]++
	}
	for in, n := range many {
		if next[in], err = s.board.Next(ctx, in, layout.Seq("message", self.ID), n); err != nil {
			return nil, err
		}
	}
	marks, numbers := make([]ref, len(claimed)), make([]ref, len(claimed))
	for i := range claimed {
		in := claimed[i].Space
		drafts[i].id = domain.MessageID(next[in])
		marks[i] = ref{in, layout.NotesPrefix + claimed[i].Item}
		numbers[i] = ref{in, domain.MessageKey{Caller: self.ID, ID: drafts[i].id}.String()}
		if next[in]++; next[in] > 1<<32 {
			return nil, domain.Limitf("actor %d has used up its message ids", self.ID)
		}
	}
	recs, err := s.fieldsOf(ctx, []string{layout.NotesDone, layout.MessageStatus}, append(marks, numbers...))
	if err != nil {
		return nil, err
	}
	for i := range drafts {
		drafts[i].unread = recs[i] == nil
		if recs[len(drafts)+i] != nil { // somebody chose it by hand
			drafts[i].id = 0
		}
	}
	return drafts, nil
}

// self is this node as an actor.
func (s *Supervisor) self(ctx context.Context) (domain.Actor, error) {
	return s.cfg.Registry.EnsureNode(ctx, s.Node(), domain.NodeAddress(s.Node()))
}

// answerOne is the commit that answers a message: the result goes to msg_out,
// the message is processed. With errNothing, it has the guards under which that
// is so.
func (s *Supervisor) answerOne(ctx context.Context, c *board.Claimed, d draft) (board.Batch, error) {
	b := s.heldBatch(c)
	key, err := domain.ParseMessageKey(c.Item)
	if err != nil {
		return b, errNothing
	}
	// As it was claimed: the guards say whether that still holds.
	rec := c.Record
	m, _ := layout.DecodeMessage(key, rec)
	m.ContextID = domain.TenantID(c.Space)
	if m.Final() || m.MessageType != domain.MessageJob {
		return b, errNothing
	}
	b.Equal(c.Item, layout.MessageOpen, rec.Get(layout.MessageOpen))
	made, decided := layout.MadeOf(rec)
	if !decided || rec.Get(layout.MessageOpen) != "0" { // one of its jobs was started again, say
		return b, errNothing
	}
	now := s.board.Now()
	if m.Origin != "" { // else a program of this board put it into msg_in: it looks itself
		r, err := s.resultOf(ctx, m, made, d.id, now)
		if err != nil {
			return b, err
		}
		s.addMessage(&b, r, now)
		b.Set(c.Item, board.Field{Name: layout.MessageAnswer, Value: r.Key().String()})
	}
	notes := layout.Notes(key)
	b.ClearAlarm(layout.MessageAlarm(layout.AlarmNotes, key))
	if d.unread { // nobody has looked for log lines yet
		b.Absent(notes)
	} else {
		b.Set(notes, board.Field{Name: layout.NotesDone, Value: "1"}).Expire(notes, s.cfg.Retention)
	}
	status, text := domain.MessageProcessed, ""
	if len(made) > 0 && all(made, func(d layout.Made) bool { return d.Error != "" }) {
		status, text = domain.MessageError, made[0].Error // nothing was made of it
	}
	s.finish(&b, key, status, text, now)
	b.PushLeft(layout.Finished, c.Item)
	return b, nil
}

// resultOf is the message that answers m, signed by this node; id is its number, or
// 0 where one has to be found.
func (s *Supervisor) resultOf(ctx context.Context, m *domain.Message, made []layout.Made, id domain.MessageID, now time.Time) (*domain.Message, error) {
	self, err := s.self(ctx)
	if err != nil {
		return nil, err
	}
	r := &domain.Message{CallerID: self.ID, ContextID: m.ContextID, SrcContext: m.ContextID, MessageType: domain.MessageResult,
		MessageFormatType: domain.FormatText, DstContext: m.SrcContext, DstPubkey: m.Pubkey, DstNode: m.Node, ReplyTo: m.Origin, ReplyDigest: identity.Digest(m),
		Timeout: m.TimeoutResult, CreatedAt: domain.At(now), UpdatedAt: domain.At(now)}
	r.ExpiresAt = expiry(r, now)
	if m.Flow != "" {
		err = s.flowResult(ctx, m, made, r)
	} else {
		err = s.jobResults(ctx, m, made, r)
	}
	if err != nil {
		return nil, err
	}
	if r.ID = id; id == 0 {
		if r.ID, err = s.freeNumber(ctx, space(m.ContextID), self.ID); err != nil {
			return nil, err
		}
	}
	for {
		if err := s.signatures.Sign(s.cfg.Keys.Node, r); err != nil {
			return nil, err
		}
		if fits(r) == nil {
			return r, nil
		}
		if !cutDown(r) {
			return nil, domain.Invalidf("the answer to %q does not fit into a parcel", m.Key())
		}
	}
}

// cutDown makes an answer that is too large smaller: first by its log, then by
// its largest result, whose job must then say so.
func cutDown(r *domain.Message) bool {
	if n := len(r.Logs); n > 0 {
		r.Logs = r.Logs[n/2+1:]
		return true
	}
	largest, size := -1, 0
	for i := range r.Job {
		n := len(r.Job[i].Error)
		for name, v := range r.Job[i].Result {
			n += len(name) + len(v)
		}
		if n > size {
			largest, size = i, n
		}
	}
	if largest < 0 {
		return false
	}
	j := &r.Job[largest]
	j.Status, j.Reason, j.Result = domain.JobError, domain.ReasonInvalid, nil
	j.Error = fmt.Sprintf("its result has %d bytes, which do not fit into a message of %d", size, domain.MaxSignedMessage)
	return true
}

// jobResults puts the ends of jobs into an answer, under the ids that the
// sender knows, with what they said last.
func (s *Supervisor) jobResults(ctx context.Context, m *domain.Message, made []layout.Made, r *domain.Message) error {
	origin, err := domain.ParseMessageKey(m.Origin)
	if err != nil {
		return err
	}
	finished := 0
	for _, d := range made {
		j := domain.Job{ID: d.Theirs, CallerID: origin.Caller, ContextID: m.SrcContext, Status: domain.JobError, Reason: domain.ReasonRefused, Error: d.Error}
		if d.Error == "" {
			ours, err := s.cfg.Work.Show(ctx, m.ContextID, domain.JobKey{Caller: m.CallerID, ID: d.Ours})
			switch {
			case errors.Is(err, domain.ErrNotFound):
				j.Error = "it was removed before its result was sent"
			case err != nil:
				return err
			case !ours.Final(): // it ended, and was started again since we looked
				return domain.Conflictf("job %q has not ended", ours.Key())
			default:
				j.Status, j.Reason, j.Error, j.Result, j.ExitCode = ours.Status, ours.Reason, ours.Error, ours.Result, ours.ExitCode
				j.Attempt, j.StartedMs, j.FinishedMs, j.ScriptType = ours.Attempt, ours.StartedMs, ours.FinishedMs, ours.ScriptType
			}
		}
		if j.Status == domain.JobFinished {
			finished++
		}
		r.Job = append(r.Job, j)
	}
	r.Message = strconv.Itoa(finished) + " of " + strconv.Itoa(len(made)) + " jobs finished"
	r.Logs, err = s.tailOf(ctx, m, made)
	return err
}

// flowResult puts the end of a flow into an answer, as if it were one job.
func (s *Supervisor) flowResult(ctx context.Context, m *domain.Message, made []layout.Made, r *domain.Message) error {
	j := domain.Job{Status: domain.JobError, Reason: domain.ReasonRefused, Error: made[0].Error, ContextID: m.SrcContext}
	if made[0].Error == "" {
		f, err := s.cfg.Flows.Show(ctx, m.ContextID, made[0].Flow)
		switch {
		case errors.Is(err, domain.ErrNotFound):
			j.Error = "the flow was removed before its result was sent"
		case err != nil:
			return err
		case f.Status == domain.FlowFinished:
			j.Status, j.Reason, j.Result = domain.JobFinished, "", f.Result
		default:
			j.Reason, j.Error, j.Result = domain.ReasonScriptFailed, f.Error, f.Result
		}
		if err == nil {
			j.StartedMs, j.FinishedMs = f.StartedMs, f.FinishedMs
		}
	}
	r.Job = domain.List[domain.Job]{j}
	r.Message = "the flow has ended: " + string(j.Status)
	return nil
}
