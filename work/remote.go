package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file deals with jobs that cross from one context to another as part of
// a message: those that are sent (they have an at), and those that came (they
// have a message and no at).

// CheckPlace says whether jobs of a caller can be sent to a place, before they
// are taken in. "" is the context itself.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) CheckPlace(ctx context.Context, tenant domain.TenantID, caller domain.ActorID, at string) error {
	if at == "" {
		return nil
	}
	if e.cfg.Remote == nil {
		return domain.Invalidf("at %q: this node sends no messages", at)
	}
	return e.cfg.Remote(ctx, tenant, caller, at)
}

// place sends a job for one runner to where that is, if its record in the
// context says that it is not at this board: local is false, and it has an
// address.
//
// Source: seed 002, "Runner.local".
func (e *Engine) place(ctx context.Context, j *domain.Job) error {
	if j.ForRunner == 0 || j.At != "" || e.cfg.Remote == nil {
		return nil
	}
	key := layout.Runner(j.ForRunner)
	recs, err := e.board.Get(ctx, layout.SpaceOf(j.ContextID), key)
	if err != nil || recs[0] == nil {
		return err
	}
	r, err := layout.DecodeRunner(key, recs[0])
	if err != nil {
		return err
	}
	if r.Local || r.Address == "" {
		return nil
	}
	if len(j.Secrets) > 0 {
		return domain.Invalidf("runner %d is not at this site, where alone the job's secrets are", j.ForRunner)
	}
	if j.Message != "" { // who sent it wants it run here
		return domain.Invalidf("runner %d is not at this site", j.ForRunner)
	}
	j.At, j.ForRunner = domain.Place{Runner: j.ForRunner}.String(), 0
	return nil
}

// known checks that somebody serves the job: who runs it elsewhere will say so
// there.
func (e *Engine) known(ctx context.Context, tenant domain.TenantID, j *domain.Job) error {
	if j.At != "" {
		return nil
	}
	known, err := e.knows(ctx, layout.SpaceOf(tenant), j.ScriptType)
	if err == nil && !known {
		err = &UnknownTypeError{Type: j.ScriptType}
	}
	return err
}

// Portable is a job as it goes to another context: with all that it would have
// found here, and without what it waited for.
func (e *Engine) Portable(ctx context.Context, tenant domain.TenantID, j *domain.Job) (domain.Job, error) {
	space := layout.SpaceOf(tenant)
	if err := e.ownFlow(ctx, space, j); err != nil {
		return domain.Job{}, err
	}
	in, err := e.inputOf(ctx, space, j)
	if err != nil {
		return domain.Job{}, err
	}
	p := domain.Job{ID: j.ID, CallerID: j.CallerID, ContextID: tenant, Script: j.Script, ScriptType: j.ScriptType, Timeout: j.Timeout,
		Retries: j.Retries, Retry: j.Retry, EnvVars: j.EnvVars, Status: domain.JobDispatched, CreatedAt: j.CreatedAt, UpdatedAt: j.CreatedAt,
		Priority: j.Priority, TraceID: j.TraceID, Affinity: j.Affinity, Step: j.Step, Shard: j.Shard, Pack: j.Pack, Item: j.Item, Params: in.Params}
	if j.FlowID != 0 && j.FlowEnv {
		env, err := e.envOf(ctx, space, j)
		if err != nil {
			return p, err
		}
		p.EnvVars = maps.Clone(env)
		if p.EnvVars == nil {
			p.EnvVars = map[string]string{}
		}
		maps.Copy(p.EnvVars, j.EnvVars)
	}
	if j.EnvFill { // who runs it has the flow not
		if p.EnvVars, err = e.fillEnv(ctx, space, j, p.EnvVars, &in); err != nil {
			return p, err
		}
	}
	for name, n := range in.Needs {
		if p.Needs == nil {
			p.Needs = map[string]domain.Need{}
		}
		p.Needs[name] = domain.Need{State: n.State, Status: n.Status, Reason: n.Reason, Result: n.Result, Results: n.Results}
	}
	return p, nil
}

// Remote is how a job ended that another context ran.
type Remote struct {
	Status   domain.JobStatus // finished or error
	Reason   domain.Reason
	Error    string
	Result   map[string]string
	ExitCode *int
}

// EndRemote ends a job that another context ran, or was to run. A job that has
// ended already stays as it is.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] while a runner here has it.
func (e *Engine) EndRemote(ctx context.Context, tenant domain.TenantID, key domain.JobKey, r Remote) error {
	err := e.endUnheld(ctx, layout.SpaceOf(tenant), key, r.ending())
	if errors.Is(err, domain.ErrInvalid) {
		// What the other side says cannot be written: as for a script of ours.
		n := ending{status: domain.JobError, reason: domain.ReasonInvalid, text: "its end could not be written: " + err.Error()}
		err = e.endUnheld(ctx, layout.SpaceOf(tenant), key, n)
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	if err == nil && e.cfg.Tracer != nil {
		if j, lerr := e.loadAny(ctx, layout.SpaceOf(tenant), key); lerr == nil {
			e.tracedRemote(tenant, j, r)
		}
	}
	return err
}

// AddRemoteEnd adds to b that job j, as it was read, ended elsewhere, where it has
// not ended already. It is false where a runner here has the job: then b is not to
// be committed. The commit is a conflict where the job has moved.
func (e *Engine) AddRemoteEnd(ctx context.Context, b *board.Batch, j *domain.Job, r Remote, now time.Time) bool {
	if !j.Final() && j.LeaseOwner == "" {
		e.addUnheldEnd(ctx, b, j, r.ending(), now)
		e.tracedRemote(domain.TenantID(b.Space), j, r)
	}
	return j.Final() || j.LeaseOwner == ""
}

// EndHeld adds to b, which is of who has the lease on it, that job j ended so and
// was let go of. The commit is a conflict where the job has moved.
func (e *Engine) EndHeld(ctx context.Context, b *board.Batch, j *domain.Job, r Remote) {
	b.Release(j.Key().String())
	e.clearWaits(b, j)
	e.end(ctx, b, j, r.ending(), e.board.Now())
}

func (r Remote) ending() ending {
	n := ending{status: r.Status, reason: r.Reason, text: r.Error, result: r.Result, exitCode: r.ExitCode}
	if n.status != domain.JobFinished {
		n.status = domain.JobError
	}
	return n
}

// explainSent says where a job stands that has left in a message.
func (e *Engine) explainSent(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	x.SinceMs, x.WaitsFor = j.StartedMs, []string{j.Message}
	key, err := domain.ParseMessageKey(j.Message)
	if err != nil {
		x.Standing, x.Text = domain.StandingStuck, "it was sent as a message that cannot be: "+err.Error()
		return x, nil
	}
	recs, err := e.board.GetFields(ctx, space, layout.MessageLine, j.Message)
	if err != nil {
		return x, err
	}
	m, _ := layout.DecodeMessage(key, recs[0])
	if recs[0] == nil || m.Final() && recs[0].Get(layout.MessageEnding) == "" {
		x.Standing, x.Text = domain.StandingStuck, fmt.Sprintf("it was sent as %s to be run at %s; that message has ended, and the job has not", j.Message, j.At)
		text := x.Text
		x.Mend = &Mend{Does: "ends it", Did: "ended", Add: func(b *board.Batch) {
			b.Free(x.Key)
			b.Equal(x.Key, layout.JobStatus, string(j.Status))
			b.Equal(x.Key, layout.JobMessage, j.Message)
			e.end(ctx, b, j, ending{status: domain.JobError, reason: domain.ReasonRefused, text: text}, e.board.Now())
		}}
		return x, nil
	}
	x.Standing, x.Text = domain.StandingSent, fmt.Sprintf("it was sent as %s to be run at %s; the message is %s", j.Message, j.At, m.Status)
	at, set, err := e.board.AlarmOf(ctx, space, layout.MessageAlarm(layout.AlarmLate, key))
	if err == nil && set {
		x.NextMs = at.UnixMilli()
	}
	return x, err
}
