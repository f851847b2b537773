package flow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

const (
	// bannedLook is how soon a flow that a ban holds up is looked at again.
	bannedLook = 2 * time.Second
	// endedMost is how many ends of jobs one round takes in.
	endedMost = 1_000
	// ordersMost is how many orders.
	ordersMost = 16
)

// seen is what one round has read.
type seen struct {
	stored
	flow    domain.Flow
	armed   string // as the record has it
	plain   string
	ended   []string // entries, oldest first
	orders  []string
	added   map[string]string
	now     time.Time
	signals int64 // wake-ups that this round answers
	more    bool  // that it does not: there are more entries than one round reads
	banned  bool  // no jobs may be made
	// reason is set where the flow ends in this round.
	reason domain.FlowReason
}

// round reads what happened, decides, and commits. It returns nil where there
// may be more to do, errDone where the flow is let go of.
func (t *tending) round(ctx context.Context) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	s, err := t.look(ctx)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		t.drop(ctx, t.claimed)
		return errDone
	case err != nil:
		return err
	case s.Writing:
		s.more = false                     // nothing is taken in yet
		return t.letGo(ctx, &s, t.batch()) // its last commit wakes us
	case s.stepped:
		return t.stepRound(ctx, &s)
	}
	return t.plainRound(ctx, &s)
}

// look reads all that is known of the flow. The counter of wake-ups comes
// first: what it counts is there to be read.
func (t *tending) look(ctx context.Context) (s seen, err error) {
	id, space := t.place.id, t.place.space
	waits, err := t.board.Get(ctx, space, layout.FlowWaits(id))
	if err != nil {
		return s, err
	}
	s.armed, s.plain = waits[0].Get(layout.WaitsArmed), waits[0].Get(layout.WaitsPlain)
	armed, _ := strconv.ParseInt(s.armed, 10, 64)
	s.signals = 1 - armed
	recs, err := t.board.Get(ctx, space, t.claimed.Item, domain.FlowKey(id), layout.FlowParams(id))
	if err != nil {
		return s, err
	}
	if recs[1] == nil || recs[0].Get(layout.FlowStateData) == "" {
		return s, missing(t.place)
	}
	if s.stored, err = decodeState(id, recs[0]); err != nil {
		return s, err
	}
	if s.flow, err = layout.DecodeFlow(domain.FlowKey(id), recs[1]); err != nil {
		return s, err
	}
	s.flow.ID, s.flow.ContextID = id, t.tenant()
	s.added = make(map[string]string, len(recs[2]))
	for _, f := range recs[2] {
		s.added[f.Name] = f.Value
	}
	if s.ended, err = t.oldest(ctx, layout.FlowEnded(id), endedMost); err != nil {
		return s, err
	}
	if s.orders, err = t.oldest(ctx, layout.FlowOrders(id), ordersMost); err != nil {
		return s, err
	}
	s.more = len(s.ended) == endedMost || len(s.orders) == ordersMost
	s.now = time.Now()
	return s, nil
}

// oldest reads up to n items from the right end of a list.
func (t *tending) oldest(ctx context.Context, list string, n int) ([]string, error) {
	items, err := t.board.List(ctx, t.place.space, list, -n, n)
	slices.Reverse(items)
	return items, err
}

// taken adds to b that what was read is dealt with.
func (t *tending) taken(b *board.Batch, s *seen) {
	if len(s.ended) > 0 {
		b.TrimRight(layout.FlowEnded(t.place.id), len(s.ended))
	}
	if len(s.orders) > 0 {
		b.TrimRight(layout.FlowOrders(t.place.id), len(s.orders))
	}
}

// letGo commits b and lets go of the flow, unless something has happened to it
// since it was looked at, or not all of it was read: then b is committed alone,
// and nil is returned for another round.
func (t *tending) letGo(ctx context.Context, s *seen, b board.Batch) error {
	if s.more {
		return t.goOn(ctx, s, b)
	}
	waits := layout.FlowWaits(t.place.id)
	last := b
	last.Guards, last.Ops = slices.Clone(b.Guards), slices.Clone(b.Ops)
	last.Equal(waits, layout.WaitsArmed, s.armed)
	if s.armed != "" {
		last.Set(waits, board.Field{Name: layout.WaitsArmed, Value: "1"})
	}
	last.Release(t.claimed.Item)
	if s.plain != "" && s.plain != "0" {
		// Where the last job has ended meanwhile, its entry in the queue may be
		// lost, as we held the flow. No guard: jobs end all the time, and we
		// would read the flow again each time.
		last.Add(waits, layout.WaitsPlain, 1).Countdown(waits, layout.WaitsPlain, layout.Keeper, t.claimed.Item)
	}
	err := t.board.Commit(ctx, last)
	var g *board.GuardError
	switch {
	case err == nil:
		t.told(s)
		return errDone
	case !errors.As(err, &g) || g.Guard.Key != waits:
		return err
	}
	return t.goOn(ctx, s, b)
}

// goOn commits b and keeps the flow.
func (t *tending) goOn(ctx context.Context, s *seen, b board.Batch) error {
	if s.signals != 0 && s.armed != "" {
		b.Add(layout.FlowWaits(t.place.id), layout.WaitsArmed, s.signals)
	}
	if len(b.Ops) == 0 {
		return nil
	}
	err := t.board.Commit(ctx, b)
	if err == nil {
		t.told(s)
	}
	return err
}

// told tells the observer of a flow whose end has been committed.
func (t *tending) told(s *seen) {
	if s.reason != "" {
		t.cfg.Observer.FlowEnded(s.reason, s.now.Sub(time.UnixMilli(s.flow.StartedMs)))
		s.reason = ""
	}
}

// stepRound lets a flow of steps go on.
func (t *tending) stepRound(ctx context.Context, s *seen) error {
	plan, err := t.plan(ctx, t.place, s.flow.Hash)
	if err != nil {
		return err
	}
	if len(s.Redo) > 0 {
		return t.redo(ctx, s)
	}
	if s.flow.Final() && len(s.orders) == 0 {
		if s.Delete {
			return t.remove(ctx, s) // as a keeper began to that died
		}
		b := t.batch()
		t.taken(&b, s)
		return t.letGo(ctx, s, b)
	}
	facts, err := t.facts(ctx, s)
	if err != nil {
		return err
	}
	next, d, err := t.advance(ctx, plan, s, facts)
	if err != nil {
		return err
	}
	return t.apply(ctx, plan, s, next, d)
}

// facts are what was read, as Advance takes it.
func (t *tending) facts(ctx context.Context, s *seen) (f Facts, err error) {
	f = Facts{Now: s.now, Added: s.added}
	for _, entry := range s.ended {
		if e, ok := work.ParseEnding(entry); ok {
			f.Ended = append(f.Ended, e)
		}
	}
	for _, text := range s.orders {
		var o Order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.log.Error("order of a flow cannot be read; dropped", "flow", uint32(t.place.id), "context", uint32(t.place.space), "err", err)
			continue
		}
		f.Orders = append(f.Orders, o)
	}
	s.banned = t.cfg.Bans != nil && t.cfg.Bans.Create(t.tenant(), s.flow.Blueprint, t.place.id) != nil
	f.Banned = s.banned || s.flow.Paused
	return f, nil
}

// advance decides, and finds out what must be known for it.
func (t *tending) advance(ctx context.Context, plan *Plan, s *seen, f Facts) (State, Decisions, error) {
	f.Whens = map[int]WhenAnswer{}
	for {
		next, d := Advance(plan, s.State, f)
		if len(d.Ask) == 0 {
			return next, d, nil
		}
		for _, i := range d.Ask {
			needs, err := t.needed(ctx, plan, &next, s.caller, i)
			if err != nil {
				return next, d, err
			}
			f.Whens[i] = evalWhen(ctx, plan.Steps[i].When, t.params(plan, i, s.added), needs)
		}
	}
}

// params are those of a step, with what jobs have added.
func (t *tending) params(plan *Plan, i int, added map[string]string) map[string]string {
	params := maps.Clone(over(plan.Params, plan.Steps[i].Params))
	if params == nil {
		params = map[string]string{}
	}
	for name, value := range added {
		if name, ok := strings.CutPrefix(name, "params."); ok {
			params[name] = value
		}
	}
	return params
}

// needed reads what a step needs.
func (t *tending) needed(ctx context.Context, plan *Plan, s *State, caller domain.ActorID, i int) (map[string]needed, error) {
	needs := map[string]needed{}
	for name, n := range needsOf(plan, s, i) {
		one := needed{state: Status(n.State)}
		switch on := &s.Steps[plan.index[name]]; {
		case on.Result != nil:
			one.result = on.Result
		case n.Job != 0:
			key := domain.JobKey{Caller: caller, ID: n.Job}
			j, err := t.work.Show(ctx, t.tenant(), key)
			if err != nil && !errors.Is(err, domain.ErrNotFound) {
				return nil, err
			}
			if err == nil {
				one.result = j.Result
			}
		}
		needs[name] = one
	}
	return needs, nil
}

// needsOf are the states of the steps that a step needs, and of those of the
// phase before it.
func needsOf(plan *Plan, s *State, i int) map[string]domain.Need {
	needs := map[string]domain.Need{}
	add := func(on int) {
		needs[plan.Steps[on].Name] = domain.Need{State: string(s.Steps[on].Status), Job: s.Steps[on].Job, Result: s.Steps[on].Result}
	}
	for _, on := range plan.needs[i] {
		add(on)
	}
	before := -1
	for k := range plan.Steps {
		if p := plan.Steps[k].Phase; p < plan.Steps[i].Phase && p > before {
			before = p
		}
	}
	for k := range plan.Steps {
		if plan.Steps[k].Phase == before {
			add(k)
		}
	}
	return needs
}

// apply commits what was decided, and does what is not part of the commit.
func (t *tending) apply(ctx context.Context, plan *Plan, s *seen, next State, d Decisions) error {
	b := t.batch()
	t.taken(&b, s)
	err := t.makeJobs(ctx, &b, plan, s, &next, d.Make)
	if err != nil {
		return err
	}
	if len(d.Again) > 0 {
		next.Redo = d.Again
		if next.RedoMs, err = t.lastEnd(ctx, s, d.Again); err != nil {
			return err
		}
	}
	b.Set(t.claimed.Item, board.Field{Name: layout.FlowStateData, Value: stateText(next)})
	alarm := layout.FlowAlarm(layout.AlarmFlow, t.place.id)
	if soon := s.now.Add(bannedLook); s.banned && (d.WakeAt.IsZero() || soon.Before(d.WakeAt)) {
		d.WakeAt = soon // whoever ends the ban does not know whom it held up
	}
	if d.WakeAt.IsZero() || d.End != "" {
		b.ClearAlarm(alarm)
	} else {
		b.SetAlarm(alarm, d.WakeAt)
	}
	reopened := t.record(&b, plan, s, &next, &d)
	if d.End != "" {
		if d.Remove {
			if err := t.goOn(ctx, s, b); err != nil {
				return err
			}
			return t.remove(ctx, s)
		}
		// An order that was refused is no second end.
		if ended := s.flow.Final() && !reopened; !ended {
			if err := t.end(ctx, &b, plan, s, &next, d); err != nil {
				return err
			}
		}
	}
	stop, abort := t.unasked(d.Stop), t.unasked(d.Abort)
	if d.More || len(d.Again) > 0 || len(stop)+len(abort) > 0 {
		if err := t.goOn(ctx, s, b); err != nil {
			return err
		}
		return t.endJobs(ctx, s, stop, abort)
	}
	return t.letGo(ctx, s, b)
}

// unasked are those jobs that have not been told to end under this lease.
func (t *tending) unasked(jobs []domain.JobID) (list []domain.JobID) {
	for _, j := range jobs {
		if !t.asked[j] {
			list = append(list, j)
		}
	}
	return list
}

// endJobs ends jobs that the flow no longer wants: abort only those that nobody
// runs.
func (t *tending) endJobs(ctx context.Context, s *seen, stop, abort []domain.JobID) error {
	if t.asked == nil {
		t.asked = map[domain.JobID]bool{}
	}
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	by, _ := strconv.ParseUint(s.Cancelled, 10, 32)
	for _, id := range stop {
		t.asked[id] = true
		g.Go(func() error {
			_, err := t.work.Cancel(ctx, t.tenant(), domain.JobKey{Caller: s.caller, ID: id}, domain.ActorID(by))
			if errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) {
				err = nil // it has ended
			}
			return err
		})
	}
	for _, id := range abort {
		t.asked[id] = true
		g.Go(func() error {
			_, err := t.work.Abort(ctx, t.tenant(), domain.JobKey{Caller: s.caller, ID: id}, abortText(s.Aborted))
			return err
		})
	}
	return g.Wait()
}

func abortText(cause string) string { return "the flow was aborted because of " + cause }

// makeJobs adds to b the jobs of units, and gives the units their ids.
func (t *tending) makeJobs(ctx context.Context, b *board.Batch, plan *Plan, s *seen, next *State, places []Place) error {
	if len(places) == 0 {
		return nil
	}
	first, err := t.drawJobs(ctx, t.place.space, s.caller, len(places))
	if err != nil {
		return err
	}
	needs := map[int]map[string]domain.Need{}
	queues := map[string][]string{}
	var names []string
	for n, at := range places {
		step, st := &plan.Steps[at.Step], &next.Steps[at.Step]
		u := &st.Open[at.Open]
		u.Job = first + domain.JobID(n)
		if needs[at.Step] == nil {
			needs[at.Step] = needsOf(plan, next, at.Step)
		}
		j := unitJob(plan, step, st, u, s)
		j.ID, j.ContextID, j.FlowID, j.Needs = u.Job, t.tenant(), t.place.id, needs[at.Step]
		j.FlowEnv = len(s.flow.EnvVars) > 0
		if step.KindOr() == domain.StepSingle {
			st.Job = j.ID
			s.flow.Jobs = append(s.flow.Jobs, j.ID)
		}
		q := work.AddFlowJob(b, j, work.Place{}, s.now)
		if queues[q] == nil {
			names = append(names, q)
		}
		queues[q] = append(queues[q], j.Key().String())
	}
	for _, q := range names {
		b.PushLeft(q, queues[q]...)
	}
	return nil
}

// unitJob is the job of a unit.
func unitJob(plan *Plan, step *domain.Step, st *StepState, u *Unit, s *seen) *domain.Job {
	j := stepJob(plan.Blueprint, step, s.caller)
	j.Stepped = true
	if st.Retries != nil {
		j.Retries = uint8(*st.Retries)
	}
	switch step.KindOr() {
	case domain.StepShard:
		j.Shard = fmt.Sprintf("%d/%d", u.ID, st.Split.Total)
	case domain.StepPack:
		j.Pack = fmt.Sprintf("%d:%d-%d", u.ID, u.Start, u.End)
	}
	return j
}

// record adds to b what the flow's own record says now. reopened is true where
// it had ended, and goes on.
func (t *tending) record(b *board.Batch, plan *Plan, s *seen, next *State, d *Decisions) (reopened bool) {
	key := domain.FlowKey(t.place.id)
	fields := []board.Field{{Name: layout.FlowUpdatedAt, Value: strconv.FormatInt(s.now.Unix(), 10)}}
	set := func(name, value string) { fields = append(fields, board.Field{Name: name, Value: value}) }
	begun := slices.ContainsFunc(next.Steps, func(st StepState) bool { return st.Status != Dormant })
	if begun && s.flow.Status == domain.FlowDispatched {
		s.flow.Status, s.flow.StartedMs = domain.FlowStarted, s.now.UnixMilli()
		set(layout.FlowStatus, string(domain.FlowStarted))
		set(layout.FlowStartedMs, strconv.FormatInt(s.flow.StartedMs, 10))
	}
	if reopened = d.Reopened && s.flow.Final(); reopened {
		t.reopen(b, plan, s)
	}
	if len(d.Make) > 0 {
		fields = append(fields, layout.IDsField(layout.FlowJobs, s.flow.Jobs))
	}
	if next.Cancelled != "" {
		set(layout.FlowCancel, next.Cancelled)
	}
	set(layout.FlowProgress, progressText(progress(plan, next)))
	b.Set(key, fields...)
	return reopened
}

// reopen adds to b that a flow which had ended goes on.
func (t *tending) reopen(b *board.Batch, plan *Plan, s *seen) {
	key := domain.FlowKey(t.place.id)
	s.flow.Status = domain.FlowStarted
	b.Set(key, board.Field{Name: layout.FlowStatus, Value: string(domain.FlowStarted)})
	b.Unset(key, layout.FlowReason, layout.FlowError, layout.FlowFinishedMs, layout.FlowCancel)
	b.Add(key, layout.FlowRetried, 1).Add(key, layout.FlowStale, 1)
	b.Live(key, s.now)
	if plan != nil && plan.UniqueAlive {
		// It takes the place again; two may live where a person brings one back.
		b.Set(layout.FlowAlive(s.flow.Blueprint), board.Field{Name: layout.FlowNameID, Value: strconv.FormatUint(uint64(t.place.id), 10)})
	}
}

// end adds to b that the flow has ended.
func (t *tending) end(ctx context.Context, b *board.Batch, plan *Plan, s *seen, next *State, d Decisions) error {
	result, err := t.result(ctx, plan, s, next)
	if err != nil {
		return err
	}
	t.endRecord(b, s, d.End, d.Why, result)
	if plan.UniqueAlive {
		return t.leaveAlive(ctx, b, s)
	}
	return nil
}

// endRecord writes the end of a flow on its record.
func (t *tending) endRecord(b *board.Batch, s *seen, reason domain.FlowReason, why string, result map[string]string) {
	key := domain.FlowKey(t.place.id)
	s.reason = reason
	status := domain.FlowError
	if reason == domain.FlowSucceeded {
		status = domain.FlowFinished
	}
	fields := []board.Field{
		{Name: layout.FlowStatus, Value: string(status)},
		{Name: layout.FlowReason, Value: string(reason)},
		{Name: layout.FlowUpdatedAt, Value: strconv.FormatInt(s.now.Unix(), 10)},
		{Name: layout.FlowFinishedMs, Value: strconv.FormatInt(s.now.UnixMilli(), 10)},
		layout.MapField(layout.FlowResult, result),
	}
	if reason == domain.FlowSucceeded {
		fields = append(fields, board.Field{Name: layout.FlowProgress, Value: progressText(1)})
	} else if why != "" {
		fields = append(fields, board.Field{Name: layout.FlowError, Value: why})
	}
	b.Set(key, fields...)
	b.Settle(key)
	b.PushLeft(layout.Finished, key)
}

// leaveAlive makes room for another flow of a blueprint that allows only one.
func (t *tending) leaveAlive(ctx context.Context, b *board.Batch, s *seen) error {
	key := layout.FlowAlive(s.flow.Blueprint)
	recs, err := t.board.Get(ctx, t.place.space, key)
	if err != nil {
		return err
	}
	mine := strconv.FormatUint(uint64(t.place.id), 10)
	if recs[0].Get(layout.FlowNameID) == mine {
		b.Equal(key, layout.FlowNameID, mine).Delete(key)
	}
	return nil
}

// redo starts jobs again that ended badly, as a retry has decided. A keeper
// that died in the middle is followed by one that does the rest: a job that
// has ended since is not started once more.
func (t *tending) redo(ctx context.Context, s *seen) error {
	gone := make([]bool, len(s.Redo))
	var g errgroup.Group
	g.SetLimit(keeperRounds)
	for i, id := range s.Redo {
		g.Go(func() (err error) {
			gone[i], err = t.again(ctx, domain.JobKey{Caller: s.caller, ID: id}, s.RedoMs)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	b := t.batch()
	next := s.State.clone()
	for i, id := range s.Redo {
		if gone[i] {
			next.forget(id)
		}
	}
	next.Redo, next.RedoMs = nil, 0
	b.Set(t.claimed.Item, board.Field{Name: layout.FlowStateData, Value: stateText(next)})
	return t.board.Commit(ctx, b)
}

// lastEnd is the instant by which all of these jobs had ended. What ends later
// has been started again. Other nodes' clocks wrote the ends: ours may be late.
func (t *tending) lastEnd(ctx context.Context, s *seen, jobs []domain.JobID) (int64, error) {
	last := s.now.UnixMilli()
	for page := range slices.Chunk(jobs, plainPage) {
		keys := make([]string, len(page))
		for i, id := range page {
			keys[i] = domain.JobKey{Caller: s.caller, ID: id}.String()
		}
		recs, err := t.board.GetFields(ctx, t.place.space, []string{layout.JobFinishedMs}, keys...)
		if err != nil {
			return 0, err
		}
		for _, r := range recs {
			ms, _ := strconv.ParseInt(r.Get(layout.JobFinishedMs), 10, 64)
			last = max(last, ms)
		}
	}
	return last, nil
}

// again starts one job again. gone is true where its record is not there any
// more.
func (t *tending) again(ctx context.Context, key domain.JobKey, before int64) (gone bool, err error) {
	j, err := t.work.Show(ctx, t.tenant(), key)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return true, nil
	case err != nil:
		return false, err
	case j.Status != domain.JobError || j.FinishedMs > before:
		return false, nil // it was started again already
	}
	err = t.work.RetryInFlow(ctx, t.tenant(), key)
	if errors.Is(err, domain.ErrConflict) {
		err = nil
	}
	return false, err
}

// forget takes back the unit of a job that is gone, so that another is made.
func (s *State) forget(id domain.JobID) {
	for i := range s.Steps {
		st := &s.Steps[i]
		k := slices.IndexFunc(st.Open, func(u Unit) bool { return u.Job == id })
		if k < 0 {
			continue
		}
		u := st.Open[k]
		u.Job = 0
		st.Open = slices.Delete(st.Open, k, k+1)
		st.Lost = append(st.Lost, u)
		st.Status = Open
		return
	}
}

// progress is how much of the flow is done, from 0 to 1.
func progress(plan *Plan, s *State) float64 {
	done, all := 0.0, 0.0
	for i := range plan.Steps {
		w := float64(plan.Steps[i].WeightOr())
		all += w
		done += w * s.Steps[i].progress()
	}
	return done / all
}

// progress is how much of the step is done, from 0 to 1. An endless one never
// gets anywhere.
func (s *StepState) progress() float64 {
	switch s.Status {
	case Succeeded, Skipped, FailedAccepted:
		return 1
	case Dormant, SkippedByError, SkippedByFailure:
		return 0
	}
	if s.Split == nil || s.Split.Endless {
		return 0
	}
	all := s.Split.End - s.Split.Start + 1
	return float64(s.Done.Count()) / float64(max(all, 1))
}

func progressText(p float64) string { return strconv.FormatFloat(p*100, 'f', 2, 64) }

// ParseProgress reads a progress as a part of 1.
func ParseProgress(text string) float64 {
	p, _ := strconv.ParseFloat(cmp.Or(text, "0"), 64)
	return p / 100
}
