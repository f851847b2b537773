package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
)

// This file has the jobs and flows that durable scripts call: their children. The commit that
// makes a child writes so into the history of its parent, under the lease of the parent's
// attempt: whoever goes on after a crash finds it there, and makes no second. The end of a
// child sets an alarm of its parent in the commit that ends it, and the alarm queues a parent
// that waits for that. How a child has ended is read from its own record when the parent goes
// on, or from the archive.
//
//	script ── call ──> child made, event "call" ──> parent suspended
//	                          │ ends: alarm called:<parent>
//	parent queued <───────────┘           parent ended: alarm called:<parent> ──> children cancelled

// FlowCall is a flow that a script calls.
type FlowCall struct {
	domain.Call
	Caller   domain.ActorID
	CalledBy domain.CalledBy
	Priority int
	TraceID  string
	// Also adds to the commit that makes it.
	Also func(b *board.Batch, id domain.FlowID)
}

// Flows are the flows that scripts call.
type Flows interface {
	// CallFlow makes one.
	//
	// Errors: [domain.ErrConflict] where others are in its way; *[board.GuardError] of what Also
	// has added.
	CallFlow(ctx context.Context, tenant domain.TenantID, c FlowCall) error
	// CalledEnd is how a flow has ended; nil where it has not.
	CalledEnd(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (*domain.ChildEnd, error)
	// CancelFlow asks for the end of one.
	CancelFlow(ctx context.Context, tenant domain.TenantID, id domain.FlowID, by domain.ActorID) error
	// FlowDepth is how many calls and flows are above one.
	FlowDepth(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (int, error)
	// ArchivedEnd is how a job or flow has ended that is in the archive alone.
	//
	// Errors: [domain.ErrNotFound].
	ArchivedEnd(ctx context.Context, tenant domain.TenantID, key string) (*domain.ChildEnd, error)
}

// CallsFlows has scripts call flows. It is called before anything runs.
func (e *Engine) CallsFlows(f Flows) { e.callFlows = f }

// Call makes a child in the commit that remembers it.
func (h *steps) Call(ctx context.Context, length int, c domain.Call, by domain.CalledBy, item func(string) (string, error)) error {
	x, tenant := h.x, domain.TenantID(h.x.Claimed.Space)
	if x.job.Origin != "" {
		return domain.Invalidf("call %q: a job that came from another context calls nothing here", c.Name)
	}
	if err := h.mayCall(ctx, tenant, &c); err != nil {
		return err
	}
	depth, err := h.depth(ctx, tenant)
	if err != nil {
		return err
	}
	if by.Job, by.Depth = x.key.String(), depth+1; by.Depth >= domain.MaxFlowDepth {
		return domain.Limitf("call %q: calls and flows are %d deep here, the limit is %d", c.Name, by.Depth+1, domain.MaxFlowDepth)
	}
	note := func(b *board.Batch, child string) error {
		x.hold(b)
		b.Add(x.Claimed.Item, layout.JobCalls, 1)
		text, err := item(child)
		if err != nil {
			return err
		}
		return h.add(b, length, text)
	}
	if c.Script != "" {
		err = h.callJob(ctx, tenant, c, by, note)
	} else {
		err = h.callFlow(ctx, tenant, c, by, note)
	}
	if err == nil {
		x.job.Calls++
	}
	return err
}

// mayCall asks whether the job's caller may make the child, and whether there is room.
func (h *steps) mayCall(ctx context.Context, tenant domain.TenantID, c *domain.Call) error {
	e := h.x.r.e
	if h.x.hide != nil {
		text, err := json.Marshal(c)
		if err != nil || h.x.hide.JSON(string(text)) != string(text) {
			return domain.Invalidf("call %q: it would hand on the value of a secret, which would stand on a record", c.Name)
		}
	}
	if e.cfg.Permit != nil {
		if err := e.cfg.Permit(ctx, tenant, h.x.job.CallerID, "job"); err != nil {
			return err
		}
	}
	if err := e.Waiting(ctx, tenant); errors.Is(err, domain.ErrExhausted) {
		return fmt.Errorf("call %q: %w: %v", c.Name, durable.ErrLater, err)
	} else if err != nil {
		return err
	}
	return nil
}

// depth is how many calls and flows are above the job.
func (h *steps) depth(ctx context.Context, tenant domain.TenantID) (int, error) {
	j, n := h.x.job, 0
	if j.CalledBy != nil {
		n = j.CalledBy.Depth
	}
	if j.FlowID == 0 || h.x.r.e.callFlows == nil {
		return n, nil
	}
	of, err := h.x.r.e.callFlows.FlowDepth(ctx, tenant, j.FlowID)
	return max(n, of+1), err
}

// callJob makes a job.
func (h *steps) callJob(ctx context.Context, tenant domain.TenantID, c domain.Call, by domain.CalledBy, note func(*board.Batch, string) error) error {
	e, parent := h.x.r.e, h.x.job
	j := &domain.Job{CallerID: parent.CallerID, ContextID: tenant, Script: c.Script, ScriptType: cmp.Or(c.ScriptType, parent.ScriptType), Timeout: c.Timeout,
		Retries: c.Retries, Params: c.Params, Priority: parent.Priority, Affinity: parent.Affinity, TraceID: parent.TraceID, CalledBy: &by}
	s := e.newSubmission(tenant, []*domain.Job{j})
	s.check(ctx, s.jobs)
	if err := s.receipts[0].Err; err != nil {
		return laterIfBanned(err)
	}
	if err := errors.Join(s.number(ctx, s.jobs), e.Announce(ctx, j)); err != nil {
		return err
	}
	for try := range submitTries {
		b, err := s.batch(ctx, j, true)
		if err == nil {
			err = note(&b, j.Key().String())
		}
		if err != nil {
			return err
		}
		err = e.board.Commit(ctx, b)
		if g := (*board.GuardError)(nil); errors.As(err, &g) && g.Guard.Kind == board.GuardAbsent && g.Guard.Key == j.Key().String() {
			if err := s.redraw(ctx, j, try); err != nil { // somebody chose that number by hand
				return err
			}
			continue
		}
		if err == nil {
			e.Took(tenant, 1)
		}
		return h.refused(err)
	}
	return fmt.Errorf("call %q: %w: its caller's ids are taken by hand", c.Name, durable.ErrLater)
}

// callFlow makes a flow.
func (h *steps) callFlow(ctx context.Context, tenant domain.TenantID, c domain.Call, by domain.CalledBy, note func(*board.Batch, string) error) error {
	e, parent := h.x.r.e, h.x.job
	if e.callFlows == nil {
		return domain.Invalidf("call %q: there are no flows here", c.Name)
	}
	noted := note(&board.Batch{}, domain.FlowKey(math.MaxUint32)) // whether it fits
	if noted != nil {
		return noted
	}
	err := e.callFlows.CallFlow(ctx, tenant, FlowCall{Call: c, Caller: parent.CallerID, CalledBy: by, Priority: parent.Priority, TraceID: parent.TraceID,
		Also: func(b *board.Batch, id domain.FlowID) {
			if noted = note(b, domain.FlowKey(id)); noted != nil {
				b.Held(h.x.Claimed.Item, h.x.r.cfg.Owner, 0) // which nobody does: it is not made
			}
		}})
	if noted != nil {
		return noted
	}
	if errors.As(err, new(*board.GuardError)) {
		return h.refused(err)
	}
	return laterIfBanned(err)
}

// laterIfBanned takes what others are in the way of for something that passes.
func laterIfBanned(err error) error {
	if errors.Is(err, domain.ErrConflict) && !errors.Is(err, durable.ErrLost) {
		return fmt.Errorf("%w: %v", durable.ErrLater, err)
	}
	return err
}

// Ended tells how children have ended, nil of those that have not.
func (h *steps) Ended(ctx context.Context, children []string) ([]*domain.ChildEnd, error) {
	return h.x.r.e.childEnds(ctx, h.x.Claimed.Space, children)
}

// childEnds reads jobs together, and flows that have ended one by one.
func (e *Engine) childEnds(ctx context.Context, space board.Space, children []string) ([]*domain.ChildEnd, error) {
	ends := make([]*domain.ChildEnd, len(children))
	for from := 0; from < len(children); from += listPage {
		page := children[from:min(from+listPage, len(children))]
		recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobStatus, layout.JobFinishedMs}, page...))
		if err != nil {
			return nil, err
		}
		for i, key := range page {
			if recs[i] != nil && (recs[i].Get(layout.JobFinishedMs) == "" || recs[i].Get(layout.JobFinishedMs) == "0") {
				continue
			}
			if ends[from+i], err = e.childEnd(ctx, space, key); err != nil {
				return nil, err
			}
		}
	}
	return ends, nil
}

// childEnd is how a child has ended that is not there, or whose record says that it has.
func (e *Engine) childEnd(ctx context.Context, space board.Space, key string) (end *domain.ChildEnd, err error) {
	tenant := domain.TenantID(space)
	if id, ferr := domain.ParseFlowKey(key); ferr == nil && strings.HasPrefix(key, layout.FlowPrefix) {
		if e.callFlows == nil {
			return nil, nil
		}
		end, err = e.callFlows.CalledEnd(ctx, tenant, id)
	} else {
		var k domain.JobKey
		if k, err = domain.ParseJobKey(key); err == nil {
			var j *domain.Job
			if j, err = e.loadAny(ctx, space, k); err == nil {
				end = endOfJob(j)
			}
		}
	}
	if errors.Is(err, domain.ErrNotFound) && e.callFlows != nil {
		end, err = e.callFlows.ArchivedEnd(ctx, tenant, key)
	}
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return &domain.ChildEnd{Failure: &domain.StepFailure{Kind: "gone", Text: key + " is gone: it was deleted before it was known how it ended"}}, nil
	}
	return end, err
}

// endOfJob is how a job has ended; nil where it has not.
func endOfJob(j *domain.Job) *domain.ChildEnd {
	switch {
	case j.FinishedMs == 0:
		return nil
	case j.EndStatus() == domain.JobFinished:
		return &domain.ChildEnd{Result: j.Result}
	}
	return &domain.ChildEnd{Failure: ChildFailure(j.Key().String(), string(j.Reason), j.Error, j.ExitCode)}
}

// ChildFailure says how a child has failed. kind is its reason.
func ChildFailure(key, kind, text string, code *int) *domain.StepFailure {
	f := &domain.StepFailure{Kind: kind, Text: key + " ended in error"}
	if kind != "" {
		f.Text += " (" + kind + ")"
	}
	if text != "" {
		f.Text += ": " + text
	}
	if code != nil {
		f.Code = *code
	}
	return f
}

// called handles the alarm of a job whose script has called something: a child has ended, or
// the job itself.
func (e *Engine) called(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, rec, err := e.loadLine(ctx, a.Space, key)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return e.clear(ctx, a)
	case err != nil && !errors.Is(err, domain.ErrInvalid):
		return err
	case j.Final() && j.FinishedMs != 0:
		if err := e.cancelChildren(ctx, a.Space, j); err != nil {
			return err
		}
		return e.clear(ctx, a)
	}
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)
	b.Equal(key.String(), layout.JobLeaseOwner, j.LeaseOwner)
	asRead(&b, j, layout.JobAttempt, layout.JobNextRetryMs)
	switch {
	case j.LeaseOwner != "":
		// It may just be letting go of its slot, as it found the child unfinished: that end of its
		// attempt is guarded by this number, and looked at again.
		b.Equal(key.String(), layout.JobSignalSent, rec.Get(layout.JobSignalSent))
		b.Add(key.String(), layout.JobSignalSent, 1)
	case j.Suspended != nil && j.NextRetryMs != 0 && len(j.Suspended.Children) > 0:
		waits, err := e.firstUnended(ctx, a.Space, j.Suspended)
		if err != nil {
			return err
		}
		if waits != "" && !j.Suspended.AnyChild { // whose end sets the alarm anew; of any, one has ended where this is asked
			b.Equal(waits, layout.JobFinishedMs, "")
			break
		}
		b.ClearAlarm(layout.Alarm(layout.AlarmRetry, key))
		e.requeue(&b, j, e.board.Now())
	}
	return e.board.Commit(ctx, b)
}

// firstUnended is a child that a script waits for before it goes on; "" where it waits for none
// any more.
func (e *Engine) firstUnended(ctx context.Context, space board.Space, s *domain.Suspension) (string, error) {
	for page := range slices.Chunk(s.Children, listPage) {
		recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobStatus, layout.JobFinishedMs}, page...))
		if err != nil {
			return "", err
		}
		for i, r := range recs {
			switch open := r != nil && r.Get(layout.JobFinishedMs) == ""; {
			case open && !s.AnyChild:
				return page[i], nil
			case !open && s.AnyChild:
				return "", nil
			}
		}
	}
	if s.AnyChild {
		return s.Children[0], nil
	}
	return "", nil
}

// childCame reports whether what a suspension waits for of children has come.
func (e *Engine) childCame(ctx context.Context, space board.Space, s *domain.Suspension) (bool, error) {
	if len(s.Children) == 0 {
		return false, nil
	}
	waits, err := e.firstUnended(ctx, space, s)
	return err == nil && waits == "", err
}

// cancelChildren ends what a job's script has called and not heard of, now that the job has
// ended.
func (e *Engine) cancelChildren(ctx context.Context, space board.Space, j *domain.Job) error {
	items, err := e.history(ctx, space, j.Key())
	if err != nil {
		return err
	}
	children, err := durable.OpenChildren(items)
	if err != nil {
		return err
	}
	tenant := domain.TenantID(space)
	for _, child := range children {
		if id, ferr := domain.ParseFlowKey(child); ferr == nil && strings.HasPrefix(child, layout.FlowPrefix) {
			if e.callFlows != nil {
				err = e.callFlows.CancelFlow(ctx, tenant, id, j.CallerID)
			}
		} else if key, kerr := domain.ParseJobKey(child); kerr == nil {
			_, err = e.Cancel(ctx, tenant, key, j.CallerID)
		}
		if err != nil && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrInvalid) {
			return fmt.Errorf("cancel %s, which %s has called: %w", child, j.Key(), err)
		}
	}
	return nil
}

// tellChildren adds to b, the commit that ends j, that its children are to end with it.
func tellChildren(b *board.Batch, j *domain.Job, now time.Time) {
	if j.Calls > 0 {
		b.SetAlarm(layout.Alarm(layout.AlarmCalled, j.Key()), now)
	}
}

// CalledText says who has made a job or flow.
func CalledText(by *domain.CalledBy) string {
	return "called by " + by.Job + ", in " + suspendedIn(&domain.Suspension{Kind: durable.DoCall, Name: by.Name, N: by.N})
}
