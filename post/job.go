package post

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// takeJob makes the jobs, or the flow, that a message asks for, but for the rest.
// Where atOnce is true and that can be, it is one commit; else what is to be made
// is decided and written down first, so that a second try after a crash makes the
// same.
func (s *Supervisor) takeJob(ctx context.Context, c *board.Claimed, m *domain.Message, atOnce bool) (rest, error) {
	if _, decided := layout.MadeOf(c.Record); !decided && m.Flow == "" && atOnce {
		if r, err := s.takeAtOnce(ctx, c, m); r.ready || err != nil {
			return r, err
		}
	}
	return rest{}, s.takeBySteps(ctx, c, m)
}

// takeAtOnce is the commit that makes the jobs of a message and says that it has
// been taken in. It is not ready where that takes more than one, or something is
// wrong with the message.
func (s *Supervisor) takeAtOnce(ctx context.Context, c *board.Claimed, m *domain.Message) (rest, error) {
	jobs, err := s.wanted(ctx, m)
	if err == nil {
		err = s.takes(ctx, m)
	}
	if err != nil {
		return rest{}, nil // takeBySteps says so
	}
	if slices.ContainsFunc(jobs, func(j *domain.Job) bool { return len(j.Dependends) > 0 }) {
		return rest{}, nil
	}
	made, err := s.choose(ctx, c.Space, m)
	if err != nil {
		return rest{}, err
	}
	for i, j := range jobs {
		j.ID = made[i].Ours
	}
	b := s.heldBatch(c)
	added, err := s.cfg.Work.AddJobs(ctx, &b, m.ContextID, jobs)
	if err != nil || !added {
		return rest{}, err
	}
	s.traced(m, jobs)
	b.Set(c.Item, layout.MadeField(made), board.Field{Name: layout.MessageTaken, Value: "1"},
		board.Field{Name: layout.MessageOpen, Value: strconv.Itoa(len(made))})
	b.Release(c.Item)
	b.SetAlarm(layout.MessageAlarm(layout.AlarmNotes, m.Key()), s.board.Now().Add(firstNote))
	return rest{batch: b, ready: true}, nil
}

func (s *Supervisor) takeBySteps(ctx context.Context, c *board.Claimed, m *domain.Message) error {
	if c.Record.Get(layout.MessageTaken) != "" {
		return s.takenBefore(ctx, c)
	}
	if m.Flow != "" {
		return s.takeFlow(ctx, c, m)
	}
	made, decided := layout.MadeOf(c.Record)
	jobs, err := s.wanted(ctx, m)
	if err == nil && !decided {
		err = s.takes(ctx, m)
	}
	if err != nil && !decided { // else some may have been made: what is wrong now is said of each
		return s.takeNothing(ctx, c, m, err)
	}
	if !decided {
		if made, err = s.choose(ctx, c.Space, m); err != nil {
			return err
		}
		b := s.heldBatch(c)
		b.Set(c.Item, layout.MadeField(made), openField(len(made)))
		if err := s.board.Commit(ctx, b); err != nil {
			return unlessConflict(err)
		}
	}
	renumber(jobs, made)
	receipts, err := s.cfg.Work.Submit(ctx, m.ContextID, jobs)
	if err != nil {
		return err
	}
	s.traced(m, jobs)
	refused := 0
	for i, r := range receipts {
		if errors.Is(r.Err, domain.ErrUnavailable) {
			return r.Err
		}
		if r.Err != nil {
			made[i].Error = r.Err.Error()
			refused++
		}
	}
	b := s.heldBatch(c)
	if refused > 0 {
		b.Set(c.Item, layout.MadeField(made))
	}
	s.taken(&b, c, refused)
	if refused < len(made) {
		b.SetAlarm(layout.MessageAlarm(layout.AlarmNotes, m.Key()), s.board.Now().Add(firstNote))
	}
	return unlessConflict(s.board.Commit(ctx, b))
}

// takenBefore lets go of a message whose jobs are all made.
func (s *Supervisor) takenBefore(ctx context.Context, c *board.Claimed) error {
	b := s.heldBatch(c)
	b.Release(c.Item)
	open := c.Record.Get(layout.MessageOpen)
	if open == "0" {
		b.PushLeft(queue.PostResult, c.Item)
	}
	// If its last job ends just now, what that queues is passed over: the
	// message is leased.
	err := s.board.Commit(ctx, *b.Equal(c.Item, layout.MessageOpen, open))
	if errors.Is(err, domain.ErrConflict) {
		s.letGo(ctx, c, func(b *board.Batch) { b.PushRight(queue.MsgIn, c.Item) })
	}
	return unlessConflict(err)
}

// renumber gives jobs, and what they depend on, the ids that they have here.
func renumber(jobs []*domain.Job, made []layout.Made) {
	ours := map[domain.JobID]domain.JobID{}
	for _, d := range made {
		ours[d.Theirs] = d.Ours
	}
	for _, j := range jobs {
		j.ID = ours[j.ID]
		for i, on := range j.Dependends {
			j.Dependends[i] = ours[on]
		}
	}
}

// openField says what must end before n jobs or flows are answered: they, and
// the taking in itself. Without that the last of them may end while the message
// is still leased, and what is queued then is passed over.
func openField(n int) board.Field {
	return board.Field{Name: layout.MessageOpen, Value: strconv.Itoa(n + 1)}
}

// taken adds to b that a message has been taken in, once, and that so many of its
// jobs will not be.
func (s *Supervisor) taken(b *board.Batch, c *board.Claimed, refused int) {
	b.Set(c.Item, board.Field{Name: layout.MessageTaken, Value: "1"})
	b.Release(c.Item)
	for range refused + 1 {
		b.Countdown(c.Item, layout.MessageOpen, queue.PostResult, c.Item)
	}
}

// unlessConflict takes a conflict for what it is here: somebody else has the
// message now.
func unlessConflict(err error) error {
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	return err
}

// wanted are the jobs of a message as they are to be made here: what only the
// sender's site can mean is left out.
//
// Errors: [domain.ErrInvalid].
func (s *Supervisor) wanted(ctx context.Context, m *domain.Message) ([]*domain.Job, error) {
	runner, err := m.Runner()
	if err != nil {
		return nil, err
	}
	jobs := make([]*domain.Job, len(m.Job))
	for i := range m.Job {
		t := &m.Job[i]
		own := asAsked(t)
		j := &own
		j.CallerID, j.ContextID, j.ForRunner = m.CallerID, m.ContextID, cmp.Or(runner, t.ForRunner)
		j.Origin, j.Message = originOf(m, t.ID), m.Key().String()
		for _, on := range j.Dependends {
			if !slices.ContainsFunc(m.Job, func(o domain.Job) bool { return o.ID == on }) {
				return nil, domain.Invalidf("job %d depends on job %d, which is not in the message", j.ID, on)
			}
		}
		for name, n := range j.Needs {
			if n.Job != 0 {
				return nil, domain.Invalidf("job %d: need %q names a job of another board", j.ID, name)
			}
		}
		if err := s.cfg.Work.CheckFlowJob(ctx, m.ContextID, j); err != nil {
			return nil, fmt.Errorf("job %d: %w", j.ID, err)
		}
		jobs[i] = j
	}
	if _, err := domain.OrderJobs(slices.Clone(jobs)); err != nil {
		return nil, err
	}
	return jobs, nil
}

// takes looks whether the context may have more work, and whether the runner that is to
// have the jobs of a message is one of a node here, or of the context.
//
// Errors: [domain.ErrExhausted]; [domain.ErrInvalid] where it is none; the board's.
func (s *Supervisor) takes(ctx context.Context, m *domain.Message) error {
	if err := s.cfg.Work.Waiting(ctx, m.ContextID); err != nil {
		return err
	}
	return s.hasRunner(ctx, m)
}

func (s *Supervisor) hasRunner(ctx context.Context, m *domain.Message) error {
	id, err := m.Runner()
	if id == 0 || err != nil {
		return err
	}
	for _, in := range []board.Space{0, space(m.ContextID)} {
		recs, err := board.Listed(ctx, s.board, in, []string{"id"}, []string{layout.Runner(id)})
		if err != nil || recs[0] != nil {
			return err
		}
	}
	return domain.Invalidf("topic %q: no runner %d is known here: neither a node nor context %d has a record %s",
		m.Topic, id, m.ContextID, layout.Runner(id))
}

// originOf says where a job comes from: its key there, and the key of whose it
// is.
func originOf(m *domain.Message, id domain.JobID) string {
	k, err := domain.ParseMessageKey(m.Origin)
	if err != nil {
		k = m.Key()
	}
	return domain.JobKey{Caller: k.Caller, ID: id}.String() + "@" + m.Pubkey[:min(len(m.Pubkey), 16)]
}

// choose decides which ids the jobs of a message have here: drawn ones. Those
// they have at home may be those of another message by now, of another context
// of the same sender, whose jobs are not made yet.
func (s *Supervisor) choose(ctx context.Context, in board.Space, m *domain.Message) ([]layout.Made, error) {
	for try := range storeTries {
		// Each try goes twice as far, past a long run of ids chosen by hand.
		n := len(m.Job) << min(try, 10)
		first, err := s.board.Next(ctx, in, layout.Seq("job", m.CallerID), n)
		if err != nil {
			return nil, err
		}
		if first+int64(n) > 1<<32 {
			break
		}
		first += int64(n - len(m.Job))
		made, keys := make([]layout.Made, len(m.Job)), make([]string, len(m.Job))
		for i := range m.Job {
			made[i] = layout.Made{Theirs: m.Job[i].ID, Ours: domain.JobID(first + int64(i))}
			keys[i] = domain.JobKey{Caller: m.CallerID, ID: made[i].Ours}.String()
		}
		recs, bad, err := board.PerKey(s.board.GetFields(ctx, in, []string{layout.JobStatus}, keys...))
		if err != nil {
			return nil, err
		}
		if len(bad) == 0 && !slices.ContainsFunc(recs, func(r board.Record) bool { return r != nil }) {
			return made, nil
		}
	}
	return nil, domain.Limitf("no free job ids were found for actor %d in context %d", m.CallerID, m.ContextID)
}

// takeNothing answers a message of which nothing can be made.
func (s *Supervisor) takeNothing(ctx context.Context, c *board.Claimed, m *domain.Message, why error) error {
	if errors.Is(why, domain.ErrUnavailable) {
		return why
	}
	made := make([]layout.Made, 0, len(m.Job))
	for i := range m.Job {
		made = append(made, layout.Made{Theirs: m.Job[i].ID, Error: why.Error()})
	}
	if len(made) == 0 {
		made = append(made, layout.Made{Error: why.Error()})
	}
	b := s.heldBatch(c)
	b.Set(c.Item, layout.MadeField(made), board.Field{Name: layout.MessageOpen, Value: "0"})
	b.Release(c.Item)
	b.PushLeft(queue.PostResult, c.Item)
	return unlessConflict(s.board.Commit(ctx, b))
}

// flowOrder is the flow that a message asks for.
type flowOrder struct {
	Blueprint string            `json:"blueprint"`
	Version   int               `json:"version"`
	Plan      *domain.Blueprint `json:"plan"`
	Trigger   string            `json:"trigger"`
	Params    map[string]string `json:"params"`
	Env       map[string]string `json:"env"`
}

// takeFlow makes the flow that a message asks for. It has the message's key as
// its trigger where the sender gives none, so a second try finds it.
func (s *Supervisor) takeFlow(ctx context.Context, c *board.Claimed, m *domain.Message) error {
	var o flowOrder
	if err := intake.Read([]byte(m.Flow), &o, intake.Limits{Bytes: domain.MaxSignedMessage}); err != nil {
		return s.takeNothing(ctx, c, m, domain.Invalidf("flow cannot be read: %v", err))
	}
	if _, decided := layout.MadeOf(c.Record); !decided {
		if err := s.cfg.Work.Waiting(ctx, m.ContextID); err != nil {
			return s.takeNothing(ctx, c, m, err)
		}
		b := s.heldBatch(c)
		b.Set(c.Item, layout.MadeField([]layout.Made{{}}), openField(1))
		if err := s.board.Commit(ctx, b); err != nil {
			return unlessConflict(err)
		}
	}
	trigger := cmp.Or(o.Trigger, "message-"+actorText(m.CallerID)+"-"+strconv.FormatUint(uint64(m.ID), 10))
	receipts, err := s.cfg.Flows.Submit(ctx, m.ContextID, []flow.Request{{Caller: m.CallerID, Blueprint: o.Blueprint, Version: o.Version, Plan: o.Plan,
		Trigger: trigger, Params: o.Params, Env: o.Env, Message: c.Item}})
	if err == nil {
		err = receipts[0].Err
	}
	if err != nil {
		return s.takeNothing(ctx, c, m, err)
	}
	if r := receipts[0]; r.Existing {
		there, err := s.cfg.Flows.Show(ctx, m.ContextID, r.ID)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return err
		}
		if err != nil || there.Message != c.Item {
			return s.takeNothing(ctx, c, m, domain.Conflictf("a flow of that blueprint and trigger is there already: flow %d", r.ID))
		}
	}
	b := s.heldBatch(c)
	b.Set(c.Item, layout.MadeField([]layout.Made{{Flow: receipts[0].ID}}))
	s.taken(&b, c, 0)
	return unlessConflict(s.board.Commit(ctx, b))
}
