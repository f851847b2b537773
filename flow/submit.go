package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

const (
	// MaxSubmit bounds the flows of one Submit.
	MaxSubmit = 1_000
	// submitTries bounds how often a flow is put together again because an id
	// that was drawn for a job is in use.
	submitTries = 5
	// partJobs is how many jobs are written in one batch: one may cost four
	// guards and operations, and more for each prerequisite.
	partJobs = 180
	// writeWithin is how long a large flow may pause in being written before
	// it is taken for given up.
	writeWithin = 20 * time.Second
	// submitWithin bounds a submit. A business name stays taken on the board
	// for longer after its flow is gone to the archive, so that a slow submit
	// sees it in one or the other.
	submitWithin = 10 * time.Minute
	// ticketFor is how long a flow is known by its request's ticket.
	ticketFor = 24 * time.Hour
)

// Submit makes flows of one context. When it returns, what was accepted is as
// durable as the board is. A flow whose blueprint and trigger exist, on the
// board or in the archive, is not made again: its receipt names the one that
// is there.
//
// Errors: [domain.ErrInvalid] for too many flows; each Receipt has its own:
// [domain.ErrInvalid], [domain.ErrNotFound] for a blueprint,
// [domain.ErrConflict] while another flow of a blueprint lives that wants to be
// alone, or something is banned, [domain.ErrUnavailable].
//
// Source: seed 004, "job submit".
func (e *Engine) Submit(ctx context.Context, tenant domain.TenantID, reqs []Request) ([]Receipt, error) {
	if len(reqs) > MaxSubmit {
		return nil, domain.Invalidf("%d flows in one submit, the limit is %d", len(reqs), MaxSubmit)
	}
	ctx, cancel := context.WithTimeout(ctx, submitWithin)
	defer cancel()
	s := submission{e: e, space: layout.SpaceOf(tenant), now: e.board.Now(), receipts: make([]Receipt, len(reqs)), drafts: make([]*draft, len(reqs))}
	for i, r := range reqs {
		s.drafts[i], s.receipts[i].Err = e.draft(ctx, tenant, r)
		if s.receipts[i].Err == nil {
			s.receipts[i].Err = s.archived(ctx, i)
		}
	}
	if err := s.number(ctx); err != nil {
		return nil, err
	}
	s.write(ctx)
	s.took(tenant)
	made := 0
	for i := range s.receipts {
		if s.wanted(i) {
			made++
		}
	}
	if made > 0 {
		e.cfg.Observer.FlowsMade(made)
	}
	return s.receipts, nil
}

// took counts what was made.
func (s *submission) took(tenant domain.TenantID) {
	n := 0
	for i, d := range s.drafts {
		if s.wanted(i) {
			n += 1 + len(d.jobs)
		}
	}
	s.e.work.Took(tenant, n)
}

// submission is one call of Submit.
type submission struct {
	e        *Engine
	space    board.Space
	now      time.Time
	drafts   []*draft
	receipts []Receipt
	silent   error // the archive has not answered, and is not asked again
}

// wanted reports whether a flow is still to be made.
func (s *submission) wanted(i int) bool { return s.receipts[i].Err == nil && !s.receipts[i].Existing }

// archived looks whether a flow of that name has left the board already. It
// comes before the commit that guards the name on the board.
func (s *submission) archived(ctx context.Context, i int) error {
	name, ok := s.drafts[i].name()
	if !ok || s.e.cfg.Names == nil {
		return nil
	}
	// The board first: nothing leaves it that the archive does not have.
	recs, err := s.e.board.Get(ctx, s.space, layout.FlowName(name.Blueprint, name.Trigger))
	if err != nil || recs[0] != nil {
		return err // the guard finds it
	}
	if s.silent != nil {
		return s.silent
	}
	key, err := s.e.cfg.Names.Holder(ctx, name)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return nil
	case errors.As(err, new(*archiveSilence)):
		s.silent = fmt.Errorf("look whether the archive has a flow %s of blueprint %q: %w", name.Trigger, name.Blueprint, err)
		return s.silent
	case err != nil:
		return err
	}
	id, err := domain.ParseFlowKey(key)
	s.receipts[i].ID, s.receipts[i].Existing, s.receipts[i].Archived = id, true, true
	return err
}

// number draws the ids of flows and of the jobs of plain ones.
func (s *submission) number(ctx context.Context) error {
	flows := 0
	for i := range s.drafts {
		if s.wanted(i) {
			flows++
		}
	}
	if flows == 0 {
		return nil
	}
	next, err := s.e.board.Next(ctx, s.space, layout.Seq("flow", 0), flows)
	if err != nil {
		return err
	}
	for i, d := range s.drafts {
		if !s.wanted(i) {
			continue
		}
		d.flow.ID = domain.FlowID(next)
		s.receipts[i].ID = d.flow.ID
		if next++; next > 1<<32 {
			return domain.Limitf("context %d has used up its flow ids", s.space)
		}
	}
	return s.numberJobs(ctx, s.drafts, 0)
}

// numberJobs draws the ids of the drafts' jobs; skip are passed over first.
func (s *submission) numberJobs(ctx context.Context, drafts []*draft, skip int) error {
	jobs := map[domain.ActorID]int{}
	for _, d := range drafts {
		if d != nil && d.flow.ID != 0 {
			jobs[d.flow.CallerID] += len(d.jobs)
		}
	}
	for caller, n := range jobs {
		if n == 0 {
			continue
		}
		first, err := s.e.drawJobs(ctx, s.space, caller, n+skip)
		if err != nil {
			return err
		}
		first += domain.JobID(skip)
		for _, d := range drafts {
			if d != nil && d.flow.ID != 0 && d.flow.CallerID == caller {
				d.number(first)
				first += domain.JobID(len(d.jobs))
			}
		}
	}
	return nil
}

// drawJobs draws consecutive ids for jobs of a caller.
func (e *Engine) drawJobs(ctx context.Context, space board.Space, caller domain.ActorID, n int) (domain.JobID, error) {
	first, err := e.board.Next(ctx, space, layout.Seq("job", caller), n)
	if err == nil && first+int64(n) > 1<<32 {
		err = domain.Limitf("caller %d has used up its job ids", caller)
	}
	return domain.JobID(first), err
}

// number gives the jobs their ids, from first on.
func (d *draft) number(first domain.JobID) {
	d.waiting = nil // it names the ids that were
	became := make(map[domain.JobID]domain.JobID, len(d.jobs))
	for i, name := range d.names {
		became[name] = first + domain.JobID(i)
	}
	d.flow.Jobs = make(domain.List[domain.JobID], len(d.jobs))
	for i, j := range d.jobs {
		needs := make([]domain.JobID, len(j.Dependends))
		for k, on := range j.Dependends {
			needs[k] = became[on]
		}
		d.names[i] = first + domain.JobID(i)
		j.ID, j.Dependends = d.names[i], needs
		j.ContextID, j.FlowID, j.FlowEnv = d.flow.ContextID, d.flow.ID, len(d.flow.EnvVars) > 0
		d.flow.Jobs[i] = j.ID
	}
}

// write commits the flows, those that fit into one batch together.
func (s *submission) write(ctx context.Context) {
	var batches []board.Batch
	var of []int
	for i, d := range s.drafts {
		if !s.wanted(i) {
			continue
		}
		if len(d.jobs) > partJobs || d.heavy() {
			s.receipts[i].Err = s.writeLarge(ctx, i)
			continue
		}
		batches, of = append(batches, s.batch(d)), append(of, i)
	}
	if len(batches) == 0 {
		return
	}
	for n, err := range s.e.board.CommitEach(ctx, batches) {
		for try := 0; err != nil && try < submitTries; try++ {
			if again, cause := s.resolve(ctx, of[n], err); !again {
				err = cause
				break
			}
			err = s.e.board.Commit(ctx, s.batch(s.drafts[of[n]]))
		}
		s.receipts[of[n]].Err = err
		if d := s.drafts[of[n]]; err == nil && !s.receipts[of[n]].Existing {
			if s.e.work.KeepFlow(&d.flow, d.followers()); d.plan != nil {
				s.e.keepPlan(d.flow.Hash, d.plan)
			}
		}
	}
}

// heavy reports whether the jobs do not fit into one batch for what else they need.
func (d *draft) heavy() bool {
	ops, bytes := 0, 0
	if len(d.parts) > 0 {
		return true
	}
	for _, j := range d.jobs {
		ops += 5 + len(j.Prerequisites)
		bytes += len(j.Script) + mapBytes(j.Params) + mapBytes(j.EnvVars)
	}
	return ops > board.MaxOps-32 || bytes > partBytes
}

// partBytes bounds the scripts, params and environments of one batch: etcd takes
// 1.5 MiB in a transaction.
const partBytes = 1 << 20

// resolve deals with a guard that failed. again is true where the flow may be
// tried with other ids.
func (s *submission) resolve(ctx context.Context, i int, err error) (again bool, cause error) {
	var g *board.GuardError
	d := s.drafts[i]
	if !errors.As(err, &g) {
		return false, err
	}
	name, named := d.name()
	switch {
	case d.also.Ticket != "" && g.Guard.Key == layout.Ticket(d.also.Ticket):
		return s.existing(ctx, i, g.Guard.Key)
	case named && g.Guard.Key == layout.FlowName(name.Blueprint, name.Trigger):
		return s.existing(ctx, i, g.Guard.Key)
	case g.Guard.Key == aliveOf(&d.flow):
		recs, err := s.e.board.Get(ctx, s.space, g.Guard.Key)
		if err != nil {
			return false, err
		}
		return false, domain.Conflictf("flow %s of blueprint %q is still alive, and the blueprint wants only one at a time (unique_alive)",
			recs[0].Get(layout.FlowNameID), d.flow.Blueprint)
	case g.Guard.Kind == board.GuardAbsent && g.Guard.Key == d.flow.Key():
		if err := s.renumber(ctx, i); err != nil {
			return false, err
		}
		return true, s.numberJobs(ctx, s.drafts[i:i+1], 0)
	case g.Guard.Kind == board.GuardAbsent:
		// Somebody chose that number by hand, and maybe the next thousand: each try goes
		// further than the one before.
		d.skip = min(max(8*d.skip, 8), 1<<16)
		return true, s.numberJobs(ctx, s.drafts[i:i+1], d.skip)
	}
	return false, err // a guard of the caller's own
}

// existing names the flow that has a name or a ticket; free is true where none has.
func (s *submission) existing(ctx context.Context, i int, key string) (free bool, err error) {
	recs, err := s.e.board.Get(ctx, s.space, key)
	if err != nil {
		return false, err
	}
	id, perr := domain.ParseFlowKey(recs[0].Get(layout.FlowNameID))
	if perr != nil {
		return true, nil // it was deleted between
	}
	s.receipts[i].ID, s.receipts[i].Existing = id, true
	return false, nil
}

// batch is the commit that makes a flow whole.
func (s *submission) batch(d *draft) board.Batch {
	b := board.Batch{Space: s.space, Guards: make([]board.Guard, 0, 4+len(d.jobs)), Ops: make([]board.Op, 0, 8+3*len(d.jobs))}
	s.claim(&b, d)
	d.begin(s.now)
	s.head(&b, d)
	s.jobs(&b, d, 0, len(d.jobs), false)
	return b
}

// claim guards the names that the flow takes.
func (s *submission) claim(b *board.Batch, d *draft) {
	id := board.Field{Name: layout.FlowNameID, Value: strconv.FormatUint(uint64(d.flow.ID), 10)}
	if d.also.Ticket != "" { // first: what it finds is this very flow
		key := layout.Ticket(d.also.Ticket)
		b.Absent(key).Set(key, id).Expire(key, ticketFor)
	}
	if name, ok := d.name(); ok {
		key := layout.FlowName(name.Blueprint, name.Trigger)
		// A tombstone of an earlier flow expires: see pruning.
		b.Absent(key).Set(key, id)
	}
	if d.plan != nil && d.plan.UniqueAlive {
		key := aliveOf(&d.flow)
		b.Absent(key).Set(key, id)
	}
	if d.also.Also != nil {
		d.also.Also(b, d.flow.ID)
	}
}

// begin sets what a caller cannot choose.
func (d *draft) begin(now time.Time) {
	d.flow.Status, d.flow.CreatedAt, d.flow.UpdatedAt = domain.FlowDispatched, domain.At(now), domain.At(now)
	if !d.flow.Stepped {
		d.flow.Status, d.flow.StartedMs = domain.FlowStarted, now.UnixMilli()
	}
	for _, j := range d.jobs {
		if j.NotBefore < d.flow.AfterMs && len(j.Dependends) == 0 {
			j.NotBefore = d.flow.AfterMs
		}
	}
}

// head writes the flow's own records, and tells the keeper of one that it must
// look at.
func (s *submission) head(b *board.Batch, d *draft) {
	id := d.flow.ID
	b.Absent(d.flow.Key())
	b.Set(d.flow.Key(), layout.EncodeFlow(d.flow)...)
	b.Live(d.flow.Key(), s.now)
	setLate(b, d.late, &d.flow, s.now)
	b.Set(layout.FlowState(id), s.e.stateFields(d)...)
	armed := "1"
	if d.flow.Stepped && !d.state.Writing {
		armed = "0"
		b.PushLeft(queue.Keeper, layout.FlowState(id))
	}
	b.Set(layout.FlowWaits(id), board.Field{Name: layout.WaitsPlain, Value: strconv.Itoa(len(d.jobs))}, board.Field{Name: layout.WaitsArmed, Value: armed})
	if d.also.takes != nil {
		d.also.takes.put(b, id)
	}
	if d.plan != nil && len(d.parts) == 0 {
		b.Set(layout.FlowPlan(id), board.Field{Name: layout.FlowPlanText, Value: d.text})
	}
}

// jobs writes the jobs from one to before another.
func (s *submission) jobs(b *board.Batch, d *draft, from, to int, held bool) {
	followers := d.followers()
	queues := map[string][]string{}
	var names []string
	for _, j := range d.jobs[from:to] {
		root := held && len(j.Dependends) == 0
		q := work.AddFlowJob(b, j, work.Place{Held: root, Followers: followers[j.ID]}, s.now)
		if q == "" {
			continue
		}
		if queues[q] == nil {
			names = append(names, q)
		}
		queues[q] = append(queues[q], j.Key().String())
	}
	for _, q := range names {
		b.PushLeft(q, queues[q]...)
	}
}

// followers are the entries of those that wait for each job.
func (d *draft) followers() map[domain.JobID][]string {
	if d.waiting != nil {
		return d.waiting
	}
	d.waiting = map[domain.JobID][]string{}
	for _, j := range d.jobs {
		if len(j.Dependends) == 0 {
			continue
		}
		entry := layout.Follower(j)
		for _, on := range j.Dependends {
			d.waiting[on] = append(d.waiting[on], entry)
		}
	}
	return d.waiting
}

// writeLarge writes a flow in parts; it begins with the last of them. One that
// is not written to its end is swept: see sweepWrite.
func (s *submission) writeLarge(ctx context.Context, i int) error {
	d := s.drafts[i]
	if name, named := d.name(); named {
		// The last commit guards it; this spares the writing of most that exist.
		if free, err := s.existing(ctx, i, layout.FlowName(name.Blueprint, name.Trigger)); !free {
			return err
		}
	}
	var err error
	for range submitTries {
		if err = s.writeParts(ctx, d); err == nil {
			if s.e.work.KeepFlow(&d.flow, d.followers()); d.plan != nil {
				s.e.keepPlan(d.flow.Hash, d.plan)
			}
			return nil
		}
		s.giveUp(ctx, d)
		again, cause := s.resolve(ctx, i, err)
		if !again || cause != nil {
			return cause
		}
		if s.receipts[i].Existing {
			return nil
		}
		// Another id: what is left of the first try is swept under the old one.
		if err := s.renumber(ctx, i); err != nil {
			return err
		}
		if len(d.jobs) > 0 {
			d.number(d.flow.Jobs[0])
		}
	}
	return err
}

// renumber draws another id for a flow.
func (s *submission) renumber(ctx context.Context, i int) error {
	next, err := s.e.board.Next(ctx, s.space, layout.Seq("flow", 0), 1)
	if err == nil && next >= 1<<32 {
		err = domain.Limitf("context %d has used up its flow ids", s.space)
	}
	if err != nil {
		return err
	}
	s.drafts[i].flow.ID = domain.FlowID(next)
	s.receipts[i].ID = s.drafts[i].flow.ID
	return nil
}

func (s *submission) writeParts(ctx context.Context, d *draft) error {
	d.begin(s.now)
	d.flow.Status = domain.FlowDispatched
	d.state.Writing, d.state.Held = true, len(d.roots())
	head := board.Batch{Space: s.space}
	s.head(&head, d)
	alarm := layout.FlowAlarm(layout.AlarmFlowWrite, d.flow.ID)
	head.SetAlarm(alarm, s.e.board.Now().Add(writeWithin))
	if err := s.e.board.Commit(ctx, head); err != nil {
		return err
	}
	written := func(b *board.Batch) {
		b.Equal(d.flow.Key(), layout.FlowStatus, string(domain.FlowDispatched)) // it was not swept
		b.SetAlarm(alarm, s.e.board.Now().Add(writeWithin))
	}
	if err := s.writePlan(ctx, d, written); err != nil {
		return err
	}
	for from := 0; from < len(d.jobs); {
		to := d.part(from)
		b := board.Batch{Space: s.space}
		s.jobs(&b, d, from, to, true)
		written(&b)
		if err := s.e.board.Commit(ctx, b); err != nil {
			return err
		}
		from = to
	}
	return s.e.board.Commit(ctx, s.last(d, alarm))
}

// last is the commit by which a large flow begins.
func (s *submission) last(d *draft, alarm string) board.Batch {
	b := board.Batch{Space: s.space}
	b.Equal(d.flow.Key(), layout.FlowStatus, string(domain.FlowDispatched))
	s.claim(&b, d)
	b.ClearAlarm(alarm)
	d.state.Writing = false
	if !d.flow.Stepped { // a keeper says when one of steps has started
		b.Set(d.flow.Key(), board.Field{Name: layout.FlowStatus, Value: string(domain.FlowStarted)},
			board.Field{Name: layout.FlowStartedMs, Value: strconv.FormatInt(s.now.UnixMilli(), 10)})
	}
	b.Set(layout.FlowState(d.flow.ID), s.e.stateFields(d)...)
	wake(&b, d.flow.ID)
	return b
}

// giveUp has what was written of a flow swept at once.
func (s *submission) giveUp(ctx context.Context, d *draft) {
	b := board.Batch{Space: s.space}
	b.Equal(d.flow.Key(), layout.FlowStatus, string(domain.FlowDispatched))
	b.SetAlarm(layout.FlowAlarm(layout.AlarmFlowWrite, d.flow.ID), s.e.board.Now())
	// Where this fails too, the alarm comes a little later.
	_ = s.e.board.Commit(context.WithoutCancel(ctx), b)
}

// part is the end of the batch that begins with job from.
func (d *draft) part(from int) int {
	ops, bytes := 0, 0
	for i := from; i < len(d.jobs); i++ {
		j := d.jobs[i]
		ops += 5 + len(j.Prerequisites)
		bytes += len(j.Script) + mapBytes(j.Params) + mapBytes(j.EnvVars)
		if i > from && (ops > board.MaxOps-32 || bytes > partBytes) {
			return i
		}
	}
	return len(d.jobs)
}

// roots are the jobs that depend on none: the first.
func (d *draft) roots() []*domain.Job {
	n := slices.IndexFunc(d.jobs, func(j *domain.Job) bool { return len(j.Dependends) > 0 })
	if n < 0 {
		n = len(d.jobs)
	}
	return d.jobs[:n]
}
